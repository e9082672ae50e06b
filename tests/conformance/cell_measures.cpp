// SPDX-License-Identifier: BSD-3-Clause
// Prints the size and centroid of each cell that standard input describes, so that tests can
// compare them with VTK's. Input is words: VTK's type and the number of points; then, of a
// polyhedron, the number of faces, and of each face the number of its points and these; then the
// coordinates.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <pillion/stage/cell_shapes.hpp>
#include <vector>

using namespace pillion::stage;

int main() {
  int type = 0;
  for (size_t count = 0; std::cin >> type >> count;) {
    PolyhedronFaces faces;
    size_t face_count = 0;
    if (type == polyhedron_type) std::cin >> face_count;
    for (size_t f = 0; f < face_count; ++f) {
      size_t n = 0;
      std::cin >> n;
      std::vector<int64_t> face(n);
      for (auto& point : face) std::cin >> point;
      faces.add(face);
    }
    std::vector<Vec3> points(count);
    for (auto& point : points) std::cin >> point[0] >> point[1] >> point[2];
    const auto found = type == polyhedron_type
                           ? measure(faces, mean_of(points),
                                     [&](int64_t p) { return points[static_cast<size_t>(p)]; })
                           : measure(*shape_of(static_cast<uint8_t>(type)), points);
    std::printf("%.17g %.17g %.17g %.17g\n", found.size, found.centroid[0], found.centroid[1],
                found.centroid[2]);
  }
}
