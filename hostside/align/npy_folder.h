// SPDX-License-Identifier: Apache-2.0
// A folder of npy files as a Side without frames.
#pragma once

#include <string>

#include "align/side.h"

namespace dumphook {

// A folder that holds *.npy and no *.mcap. Throws std::runtime_error for a folder that holds neither.
bool is_npy_folder(const std::string& path);

// Files are read when their tensors are loaded; type and shape are not known before.
Side npy_folder_side(const std::string& path);

// Digits count as numbers: "layer2" comes before "layer10".
bool natural_less(const std::string& a, const std::string& b);

}  // namespace dumphook
