// A view of a callable, for a function that calls it before it returns: two pointers, no allocation.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace ft {

template <class Signature>
class FunctionRef;

// Does not own: the callable must outlive the call that takes the view.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
                 std::is_invocable_r_v<R, F&, Args...>)
    FunctionRef(F&& callable)
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
          call_([](void* object, Args... args) -> R {
              return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
          }) {}

    R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
    void* object_;
    R (*call_)(void*, Args...);
};

}  // namespace ft
