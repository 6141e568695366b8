#include "kernels/scalar/table.h"

#include "kernels/scalar/make_table.h"

namespace ft {

constexpr Kernels k_scalar_kernels = k_table;

}  // namespace ft
