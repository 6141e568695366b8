// The floating-point mode that docs/arithmetic.md asks for, per thread.
#pragma once

namespace ft {

// Round to nearest even, subnormals kept (no FTZ, no DAZ), for the calling thread. A library loaded into the
// process may have changed them. Every thread that computes calls this once at its start.
void set_exact_float_mode();

// True where the calling thread rounds to nearest and keeps subnormal inputs and results.
bool exact_float_mode();

}  // namespace ft
