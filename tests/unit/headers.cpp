// SPDX-License-Identifier: BSD-3-Clause
// What unit tests include, precompiled: CMake asks for a source to compile it with.
