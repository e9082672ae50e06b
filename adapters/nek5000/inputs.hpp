// SPDX-License-Identifier: BSD-3-Clause
// What the adapter reads in Nek's inputs before Nek does: which case it is, and the field file from
// which the run starts. Texts in, answers out.
#pragma once

#include <string>

namespace pillion::nek5000 {

/// Name of the case, from the text of SESSION.NAME; "" if there is none.
std::string case_name(const std::string& session);

/// Folder of the case, from the same; "." if it names none.
std::string case_folder(const std::string& session);

/// Whether SESSION.NAME couples several cases, each on a part of the ranks (neknek).
bool are_coupled(const std::string& session);

/// The field file that `startFrom` of a .par file names; "" if there is none, or if the run starts
/// at another time than that of the file, and so is a run of its own.
std::string start_file(const std::string& par);

/// Whether a configuration says itself from which checkpoint to resume.
bool names_restart(const std::string& configuration);

}  // namespace pillion::nek5000
