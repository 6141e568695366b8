// Compiled without AVX2.
#include "kernels/avx2/code_books.h"

#include <bit>

#include "quant/iq_grids.h"

namespace ft::avx2 {

namespace {

// n entries of sizeof(Entry) values of `bits` bits, which number the bytes of `values`.
template <class Entry, int n, int bits>
struct CodeBook {
    Entry entries[n];
    CodeBook(const uint16_t* grid, const uint8_t* values) {
        for (int i = 0; i < n; i++) {
            entries[i] = 0;
            for (int k = 0; k < static_cast<int>(sizeof(Entry)); k++)
                entries[i] |= static_cast<Entry>(values[grid[i] >> bits * k & ((1 << bits) - 1)]) << 8 * k;
        }
    }
};

struct Signs {
    uint64_t entries[128];
    Signs() {
        for (unsigned i = 0; i < 128; i++) {
            const unsigned bits = i | (std::popcount(i) & 1u) << 7;
            entries[i] = 0;
            for (int k = 0; k < 8; k++) entries[i] |= uint64_t{(bits >> k & 1) != 0 ? 0xffu : 1u} << 8 * k;
        }
    }
};

constexpr uint8_t k_values_iq1[4] = {0xf8, 0, 8, 0};  // a 3 does not occur
constexpr uint8_t k_values_iq2[4] = {8, 25, 43, 0};   // a 3 does not occur
constexpr uint8_t k_values_iq3_xxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr uint8_t k_values_iq3_s[8] = {1, 3, 5, 7, 9, 11, 13, 15};

}  // namespace

const uint64_t* code_book_iq2_xxs() {
    static const CodeBook<uint64_t, 256, 2> book(k_grid_iq2_xxs, k_values_iq2);
    return book.entries;
}
const uint64_t* code_book_iq2_xs() {
    static const CodeBook<uint64_t, 512, 2> book(k_grid_iq2_xs, k_values_iq2);
    return book.entries;
}
const uint64_t* code_book_iq2_s() {
    static const CodeBook<uint64_t, 1024, 2> book(k_grid_iq2_s, k_values_iq2);
    return book.entries;
}
const uint32_t* code_book_iq3_xxs() {
    static const CodeBook<uint32_t, 256, 3> book(k_grid_iq3_xxs, k_values_iq3_xxs);
    return book.entries;
}
const uint32_t* code_book_iq3_s() {
    static const CodeBook<uint32_t, 512, 3> book(k_grid_iq3_s, k_values_iq3_s);
    return book.entries;
}

const uint64_t* code_book_iq1() {
    static const CodeBook<uint64_t, 2048, 2> book(k_grid_iq1, k_values_iq1);
    return book.entries;
}
const uint64_t* signs_of_7_bits() {
    static const Signs signs;
    return signs.entries;
}

}  // namespace ft::avx2
