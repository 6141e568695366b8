// One step of a spin loop: tells the processor that the thread waits, so that its sibling thread gets the
// units.
#pragma once

namespace ft {

inline void cpu_pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

}  // namespace ft
