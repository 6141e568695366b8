// Values of the template language: Python's, as far as templates can see them. A Value is 16 bytes; strings
// and containers are shared and never change after they are made (namespace, cycler, joiner and loop are the
// exceptions). Reference counts are plain integers: values of one rendering stay on its thread. Constants of
// a parsed template are immortal, their counts are never touched, so that threads can render one template at
// the same time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ft::jinja {

class Heap;
struct Object;

// Kinds from `undefined` on carry an Object.
enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    real,
    undefined,
    string,
    sequence,
    map,
    range,
    big_integer,
    name_space,
    loop,
    macro,
    method,
    function,
    cycler,
    joiner,
};

enum class SequenceKind : uint8_t { list, tuple, group, dict_keys, dict_values, dict_items, generator };

struct Object {
    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object();

    static constexpr uint32_t k_immortal = ~0U;
    uint32_t refs = 0;
    Heap* heap = nullptr;  // the charge goes back there
    uint64_t charged = 0;
    Object* next_dead = nullptr;
};

struct StringObject;
struct SequenceObject;
struct MapObject;
struct RangeObject;

class Value {
 public:
    Value() : kind_(Kind::none), integer_(0) {}
    Value(Kind kind, Object* object) : kind_(kind), object_(object) { retain(); }
    Value(const Value& other) : kind_(other.kind_), integer_(other.integer_) { retain(); }
    Value(Value&& other) noexcept : kind_(other.kind_), integer_(other.integer_) { other.kind_ = Kind::none; }
    Value& operator=(Value other) noexcept {
        std::swap(kind_, other.kind_);
        std::swap(integer_, other.integer_);
        return *this;
    }
    ~Value() { release(); }

    static Value boolean(bool b) { return Value(Kind::boolean, int64_t{b}); }
    static Value integer(int64_t i) { return Value(Kind::integer, i); }
    static Value real(double d) {
        Value v;
        v.kind_ = Kind::real;
        v.real_ = d;
        return v;
    }

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool is_undefined() const { return kind_ == Kind::undefined; }
    bool is_none() const { return kind_ == Kind::none; }
    bool is_string() const { return kind_ == Kind::string; }
    bool is_map() const { return kind_ == Kind::map; }
    bool is_integral() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
    bool is_number() const { return is_integral() || kind_ == Kind::real; }

    bool as_boolean() const { return integer_ != 0; }
    int64_t as_integer() const { return integer_; }  // boolean counts as 0 or 1
    double as_real() const { return kind_ == Kind::real ? real_ : static_cast<double>(integer_); }
    Object* object() const { return object_; }

    const std::string& text() const;  // of a string
    const StringObject& string_object() const;
    const SequenceObject& sequence() const;
    const MapObject& map() const;
    const RangeObject& range() const;
    template <class T>
    T& as() const {
        return *static_cast<T*>(object_);
    }
    bool is_sequence(SequenceKind kind) const;

 private:
    Value(Kind kind, int64_t integer) : kind_(kind), integer_(integer) {}
    bool has_object() const { return kind_ >= Kind::undefined && object_ != nullptr; }
    void retain() {
        if (has_object() && object_->refs != Object::k_immortal) object_->refs++;
    }
    void release() {
        if (has_object() && object_->refs != Object::k_immortal && --object_->refs == 0) destroy(object_);
    }
    static void destroy(Object* object);

    Kind kind_;
    union {
        int64_t integer_;
        double real_;
        Object* object_;
    };
};

struct UndefinedObject : Object {
    explicit UndefinedObject(std::string why) : message(std::move(why)) {}
    std::string message;  // what a use of the value says
};

struct StringObject : Object {
    StringObject(std::string t, bool is_markup);
    std::string text;  // UTF-8
    int64_t length;    // code points
    bool markup;       // made by `safe` or `escape`: adding a plain string escapes that one
    bool ascii() const { return length == static_cast<int64_t>(text.size()); }
};

struct SequenceObject : Object {
    SequenceObject(SequenceKind k, std::vector<Value> v) : kind(k), items(std::move(v)) {}
    SequenceKind kind;
    std::vector<Value> items;
    bool consumed = false;  // generators give their items once
};

struct ValueHash {
    size_t operator()(const Value& v) const;
};
struct ValueSame {
    bool operator()(const Value& a, const Value& b) const;
};

struct MapObject : Object {
    std::vector<std::pair<Value, Value>> entries;  // in order of insertion
    const Value* find(const Value& key) const;     // fails on keys that cannot be hashed
    const Value* find(std::string_view key) const;
    void set(const Value& key, Value value);

 private:
    static constexpr size_t k_linear = 8;  // up to here a search beats hashing
    std::unordered_multimap<size_t, uint32_t> index_;
};

struct RangeObject : Object {
    RangeObject(int64_t first, int64_t end, int64_t by, int64_t n)
        : start(first), stop(end), step(by), count(n) {}
    int64_t start, stop, step, count;
    int64_t at(int64_t i) const { return start + i * step; }
};

// An integer beyond 64 bits that came with the context: it can be printed and compared for equality, not
// computed with.
struct BigIntegerObject : Object {
    explicit BigIntegerObject(std::string d) : digits(std::move(d)) {}
    std::string digits;
};

struct NamespaceObject : Object {
    std::vector<std::pair<std::string, Value>> attributes;
    const Value* find(std::string_view name) const;
    void set(std::string_view name, Value value);
};

struct CyclerObject : Object {
    std::vector<Value> items;
    size_t position = 0;
};

struct JoinerObject : Object {
    explicit JoinerObject(Value s) : separator(std::move(s)) {}
    Value separator;
    bool used = false;
};

// Python's name of the type, as error messages and type tests use it.
std::string_view type_name(const Value& value);
// "'dict object'", "'None'": how messages about missing attributes name the owner.
std::string owner_name(const Value& value);

}  // namespace ft::jinja
