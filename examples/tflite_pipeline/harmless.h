// SPDX-License-Identifier: Apache-2.0
// The proof that capture is harmless, to be run on the board itself: the same frames without a hook, with the hook off,
// with statistics, and with every byte captured, by turns.
#pragma once

#include "options.h"

// Prints what each mode did to outputs and latency, and writes it as JSON where options.json says. False when an output
// changed by a bit. Throws std::runtime_error.
bool prove_harmless(const Options& options);
