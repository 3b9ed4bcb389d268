// SPDX-License-Identifier: Apache-2.0
// Children that several messages have.
#pragma once

#include "wire/flat_writer.h"
#include "wire/messages.h"

namespace dumphook {

inline bool is_blank(const char* text_or_null) { return text_or_null == nullptr || *text_or_null == '\0'; }

void write_attributes(FlatWriter& writer, FlatSlot slot, Span<const AttributeView> attributes);

}  // namespace dumphook
