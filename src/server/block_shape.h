// What the shapes have in common whose answer is a list of blocks (Anthropic's content, the output of
// OpenAI's responses): thinking, texts and calls in the order that the model wrote them. The same blocks are
// built for a stream and for a whole body; in a stream each step is told as events.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/endpoint_call.h"

namespace ft {

class BlockShape : public AnswerShape {
 public:
    const char* content_type(bool stream) const final;
    std::string piece(const AnswerPiece& piece) final;
    std::string end(const ChoiceOutcome& outcome) final;

 protected:
    using Json = nlohmann::ordered_json;
    enum class Block : uint8_t { none, text, thinking, call };

    // What a dialect says of each step: block_ is the block that is written, text_ what it holds so far (its
    // text, or the arguments of its call), blocks_ those before it.
    virtual void begin_block(const AnswerPiece& piece) = 0;  // piece: of a call the one that begins it
    virtual void tell_growth(const std::string& text) = 0;
    virtual void end_block(bool cut) = 0;  // cut: the answer's length ended it

    // All of an answer that is told as a whole body; what would be told of it as events is dropped.
    void take_all(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes);
    std::string take_events();

    Json blocks_ = Json::array();
    Json block_;
    Block open_ = Block::none;
    std::string text_;
    std::string events_;
    int64_t thinking_tokens_ = 0;
    ChoiceOutcome outcome_;

 private:
    void add(const AnswerPiece& piece);
    void grow(Block kind, const AnswerPiece& piece);
    void open(Block kind, const AnswerPiece& piece);
    void close(bool cut = false);
    void finish(const ChoiceOutcome& outcome);
};

}  // namespace ft
