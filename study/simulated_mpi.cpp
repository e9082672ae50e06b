// SPDX-License-Identifier: BSD-3-Clause
// The three calls of MPI 3 that the library's planning makes and SimGrid 3.32 does not have: a rank
// has one thread here, so that what a probe found is still there when it is received. And polling
// that waits: nothing else is to be done here meanwhile, and simulated polls are slow.
#include <mpi.h>

#include <utility>

namespace {

struct Probed {
  int source, tag;
  MPI_Comm comm;
};

}  // namespace

extern "C" {

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                MPI_Status* status) {
  const int code = MPI_Iprobe(source, tag, comm, flag, status);
  if (*flag != 0) *message = new Probed{status->MPI_SOURCE, status->MPI_TAG, comm};
  return code;
}

int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
  auto* probed = static_cast<Probed*>(std::exchange(*message, nullptr));
  const int code = MPI_Irecv(data, count, type, probed->source, probed->tag, probed->comm, request);
  delete probed;
  return code;
}

int MPI_Get_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count* elements) {
  int count = 0;
  const int code = MPI_Get_count(status, type, &count);
  *elements = count;
  return code;
}

int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  const int code = MPI_Waitany(count, requests, index, status);
  *flag = 1;
  return code;
}
}
