// Signals that wait while this lives, for the thread that made it and for threads that it starts meanwhile,
// which keep it so: signals are for the program's other threads, some of which wait for them.
#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace ft {

class SignalsBlocked {
 public:
    SignalsBlocked() {  // all
        sigset_t all;
        sigfillset(&all);
        block(all);
    }
    explicit SignalsBlocked(std::initializer_list<int> numbers) {
        sigset_t some;
        sigemptyset(&some);
        for (const int number : numbers) sigaddset(&some, number);
        block(some);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    // The mask of before, for a wait that lets signals in.
    const sigset_t& before() const { return before_; }

 private:
    void block(const sigset_t& signals) { ::pthread_sigmask(SIG_BLOCK, &signals, &before_); }

    sigset_t before_{};
};

}  // namespace ft
