// Compiled with -mfma: see kernels/README.md.
#include "kernels/scalar/make_table.h"
#include "kernels/scalar/table.h"

namespace ft {

constexpr Kernels k_scalar_kernels_fma = k_table;

}  // namespace ft
