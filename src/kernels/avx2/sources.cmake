# The AVX2 matrix products, for src/kernels/CMakeLists.txt: sources that are compiled with the AVX2 flags, those that are
# not, and the tests.
set(avx2_matmul_sources
    avx2/dot_decoded.cpp avx2/dot_float.cpp avx2/dot_iq1.cpp avx2/dot_iq23.cpp avx2/dot_k23.cpp avx2/dot_k45.cpp avx2/dot_k6.cpp
    avx2/dot_nvfp4.cpp avx2/dot_q32.cpp avx2/dot_table4.cpp avx2/quantise.cpp)
set(avx2_matmul_plain_sources avx2/code_books.cpp avx2/matmul.cpp)
set(avx2_matmul_tests matmul_parity_test.cpp)
