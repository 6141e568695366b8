// Any text as what a model writes: cut in any way it gives the same pieces, arguments of calls are JSON, and
// every dialect can tell the answer.
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "server/served_model_for_test.h"

namespace {

ft::EndpointCall make_call(const ft::SmallModel& model, ft::Endpoint endpoint) {
    ft::ParsedEndpoint parsed = model.parse(
        endpoint, R"({"model": "local-moe", "messages": [{"role": "user", "content": "a"}], "tools": [{"type":
        "function", "name": "f", "function": {"name": "f", "parameters": {"type": "object", "properties": {"n": {"type":
        ["integer", "null"]}, "o": {"type": "object"}}}}}], "input": "a"})");
    ft::check(parsed.call.has_value(), "the request is read");
    return std::move(*parsed.call);
}

// Pieces that follow each other are one, so that cuts do not show.
std::vector<ft::AnswerPiece> read(const ft::OpenAiCall& call, std::string_view text, size_t step) {
    ft::AnswerReader reader(call);
    std::vector<ft::AnswerPiece> out;
    const auto add = [&](std::vector<ft::AnswerPiece> pieces) {
        for (ft::AnswerPiece& piece : pieces) {
            const bool same = !out.empty() && out.back().kind == piece.kind &&
                              out.back().tool == piece.tool &&
                              piece.kind != ft::AnswerPiece::Kind::tool_begin;
            if (same) out.back().text += piece.text;
            else out.push_back(std::move(piece));
        }
    };
    for (size_t at = 0; at < text.size(); at += step) add(reader.token(0, text.substr(at, step), nullptr));
    add(reader.finish(0, ""));
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const ft::SmallModel model("{{ tools | tojson }}{{ messages | tojson }}");
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (size > 2000 || !ft::is_utf8(text)) return 0;
    const ft::EndpointCall call = make_call(model, ft::Endpoint::chat);
    const std::vector<ft::AnswerPiece> whole = read(call.call, text, std::max<size_t>(size, 1));
    for (const size_t step : {1, 3, 7}) {
        const std::vector<ft::AnswerPiece> cut = read(call.call, text, step);
        ft::check(cut.size() == whole.size(), "cuts do not change how many pieces there are");
        for (size_t i = 0; i < cut.size(); i++)
            ft::check(cut[i].kind == whole[i].kind && cut[i].text == whole[i].text,
                      "cuts do not change a piece");
    }
    for (const ft::AnswerPiece& piece : whole)
        if (piece.kind == ft::AnswerPiece::Kind::tool_arguments)
            ft::check(nlohmann::ordered_json::accept(piece.text), "arguments are JSON");
    for (const ft::Endpoint endpoint : {ft::Endpoint::chat, ft::Endpoint::responses,
                                        ft::Endpoint::anthropic_messages, ft::Endpoint::ollama_chat}) {
        const ft::EndpointCall other = make_call(model, endpoint);
        const std::vector<ft::ChoiceOutcome> outcomes = {{.choice = 0}};
        const std::vector<ft::RequestRecord> records(1);
        const std::string body = other.shape->whole(whole, outcomes, records);
        ft::check(nlohmann::ordered_json::accept(body), "the body is JSON");
    }
    return 0;
}
