// Schemas that hold together: allOf, and keywords beside $ref, anyOf and oneOf.
#pragma once

#include "grammar/schema_keywords.h"

namespace ft::grammar {

class SchemaMerger {
 public:
    // root must outlive this.
    explicit SchemaMerger(const Json& root) : root_(root) {}

    // What "#/$defs/name" points at; nullptr: nothing. Any place in the schema, and # for all of it.
    const Json* target_of(const std::string& pointer) const;

    // One schema without $ref and allOf that allows what both allow. Where two values of a keyword cannot be
    // made one, an error names it.
    Expected<Json> merged(const Json& a, const Json& b, const std::string& place);

    // The schema without $ref and allOf at its top.
    Expected<Json> flat(const Json& schema, const std::string& place);

 private:
    Status add(Json& to, const std::string& name, const Json& value, const std::string& place);
    Expected<Json> flat_at(const Json& schema, const std::string& place, int depth);

    const Json& root_;
    int n_merges_ = 0;
};

}  // namespace ft::grammar
