// Reads the fields of a JSON object that a client sent. The first field that is wrong is kept as the error;
// what is read after it does not matter.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/api_error.h"

namespace ft {

class JsonFields {
 public:
    using Json = nlohmann::ordered_json;

    // path: what stands before a field's name in messages, "messages[2]." say. Both must outlive this.
    JsonFields(const Json& object, std::optional<ApiError>& error, std::string path = "")
        : object_(object), error_(error), path_(std::move(path)) {}

    // The fields of an object in this one, under `name`; the error is shared.
    JsonFields within(const Json& object, const std::string& name) const {
        return {object, error_, path_ + name + "."};
    }

    const Json& object() const { return object_; }

    // nullptr where it is absent or null, which are the same everywhere.
    const Json* find(const char* name) const;

    // Nothing where the field is absent, null or wrong. Both ends of a range are allowed.
    std::optional<double> number(const char* name, double least, double most);
    std::optional<int64_t> integer(const char* name, int64_t least, int64_t most);
    std::optional<bool> boolean(const char* name);
    std::optional<std::string> text(const char* name);

    // "temperature takes a number from 0 to 2, not "hot"."
    void expected(const std::string& name, const std::string& what, const Json& got);
    void fail(const std::string& name, std::string message);
    void fail(ApiError error);
    bool failed() const { return error_.has_value(); }

 private:
    const Json& object_;
    std::optional<ApiError>& error_;
    std::string path_;
};

// The value as JSON, short enough for a message.
std::string shown(const nlohmann::ordered_json& value);

}  // namespace ft
