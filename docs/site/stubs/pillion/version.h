/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands for the file that the build makes; the reference does not show it. */
#pragma once
#define PILLION_VERSION "0"
