#include "config/settings.h"

namespace ft {

namespace {

constexpr std::string_view k_introduction = R"(# Settings

This page is generated from the table in src/config/keys.cpp (`freetoken_generate settings`); a test compares the two.

A setting can be given in five places. The first of them that names it counts:

1. a flag: `--temp 0.5`
2. `--set section.key=value`, as often as wanted: `--set inference.temperature=0.5`
3. an environment variable, FREETOKEN_SECTION_KEY: `FREETOKEN_INFERENCE_TEMPERATURE=0.5`
4. the configuration file of `--config FILE`
5. the default; for sampling, what the model's own file advises (`general.sampling.*`) comes before ours

`--config`, `--set` and `--print-config` work on every command that has settings. `--print-config` prints those
in force, each with its origin as a comment, and ends without loading; what it prints is a valid configuration file.

The file is YAML of two levels; `section.key: value` on one line works too:

```yaml
model:
  path: ~/models/model-q4_k_m.gguf
memory:
  ram_budget: 8
kv_cache:
  max_context: 4096
inference:
  temperature: 0.7
```

`model.path` alone is enough; whatever is left out has its default. `freetoken run --config config.yaml` chats with that
model, `freetoken serve --config config.yaml` serves it.

Every key there is, with a value that only shows its form (an example, no advice: some suit one machine or one model
only). Take the `#` from the lines you want:

```yaml
)";

constexpr std::string_view k_rules = R"(```

`null` leaves the default in force, and so does `auto` where it is allowed. A key that is not in the table, a key that
stands twice and a value outside its range are refused with the line. Paths are relative to the folder the program is
started in; `~/` is the home folder. An empty environment variable counts as none.
)";

// Examples show a form: a folder, a token's id or a card of theirs need not exist here. So all but the
// model's path are comments, and the file can be started as it stands.
std::string example_file() {
    std::string text, section;
    for (const Key& key : keys()) {
        if (section != key.section) text += fmt::format("{}:\n", section = key.section);
        const char* mark = dotted(key) == "model.path" ? "" : "# ";
        text += fmt::format("  {}{}: {}\n", mark, key.name, key.example);
    }
    return text;
}

std::string description(const Key& key) {
    std::string text = fmt::format("### {}\n\n{}.\n\n", dotted(key), key.help);
    text[std::string_view("### ").size() + dotted(key).size() + 2] =
        static_cast<char>(std::toupper(static_cast<unsigned char>(key.help[0])));
    text += fmt::format("- takes {}\n- default: {}\n", allowed_values(key), default_text(key));
    if (*key.flag)
        text += fmt::format("- flag: `{}{}{}`\n", key.flag, *key.value_name ? " " : "", key.value_name);
    text += fmt::format("- environment: `{}`\n", environment_name(key));
    if (*key.model_key) text += fmt::format("- the model's own: `{}`\n", key.model_key);
    return text;
}

}  // namespace

std::string settings_markdown() {
    std::string text(k_introduction);
    text += example_file();
    text += k_rules;
    std::string section;
    for (const Key& key : keys()) {
        if (section != key.section) text += fmt::format("\n## {}\n", section = key.section);
        text += "\n" + description(key);
    }
    return text;
}

}  // namespace ft
