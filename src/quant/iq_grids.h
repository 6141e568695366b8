// The code books of the IQ1, IQ2 and IQ3 types. An entry of iq1 and iq2_* packs 8 values of 2 bits, an entry
// of iq3_* 4 values of 3 bits, value k at bit 2k or 3k. What the values stand for:
//   iq1:      -1 0 1          iq2_*: 8 25 43
//   iq3_xxs:  4 12 20 28 36 44 52 62      iq3_s: 1 3 5 7 9 11 13 15
#pragma once

#include <cstdint>

namespace ft {

extern const uint16_t k_grid_iq1[2048];  // IQ1_S and IQ1_M
extern const uint16_t k_grid_iq2_xxs[256];
extern const uint16_t k_grid_iq2_xs[512];
extern const uint16_t k_grid_iq2_s[1024];
extern const uint16_t k_grid_iq3_xxs[256];
extern const uint16_t k_grid_iq3_s[512];

}  // namespace ft
