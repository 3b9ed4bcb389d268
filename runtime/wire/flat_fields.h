// SPDX-License-Identifier: Apache-2.0
// Finds fields in a FlatBuffer by their number, without its schema. Bounded on any bytes.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// Position of the root table, or 0 when there is none.
size_t flat_root(ConstBytes buffer);

// Position of a field's `bytes` inline bytes in the table at `table`, or 0 when absent or outside the buffer. `table`
// may be 0: a table that was not found has no fields.
size_t flat_field(ConstBytes buffer, size_t table, uint16_t vt, size_t bytes);

// Position of the table, vector or string that a field refers to, or 0.
size_t flat_child(ConstBytes buffer, size_t table, uint16_t vt);

}  // namespace dumphook
