// A session that knows which ids it holds, so that a longer conversation feeds only what is new.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "engine/engine.h"

namespace ft::cli {

class LiveSequence : public Sequence {
 public:
    explicit LiveSequence(std::unique_ptr<Session> session) : session_(std::move(session)) {}

    // Drops what is not a beginning of `ids`, and its last id too, whose logits are wanted. Where the model
    // has recurrent layers, it drops as far back as keep_state_at() kept their state.
    void keep_prefix_of(std::span<const int32_t> ids);

    // feed() keeps the state of recurrent layers after the first n_id ids: a later prompt will begin with
    // these, and may go on otherwise. Nothing where the model has no such layers.
    void keep_state_at(int64_t n_id) { keep_at_ = session_->keeps_states() ? n_id : 0; }
    bool keeps_states() const { return session_->keeps_states(); }

    Status feed(std::span<const int32_t> ids, const std::atomic<bool>* stop) override;
    // A file of what was fed, with a note; and back. After an error of load() nothing is fed, or what was.
    Status save(const std::string& path, const std::string& note) const {
        return session_->save(path, fed_, note);
    }
    Expected<std::string> load(const std::string& path);
    std::span<const float> logits() const override { return session_->logits(); }
    int64_t n_past() const override { return session_->n_past(); }
    int64_t step_tokens() const override { return session_->step_tokens(); }
    Session& session() { return *session_; }

 private:
    std::unique_ptr<Session> session_;
    Status feed_part(std::span<const int32_t> ids, const std::atomic<bool>* stop);

    std::vector<int32_t> fed_;  // n_past() ids
    int64_t keep_at_ = 0;
};

}  // namespace ft::cli
