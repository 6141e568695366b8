// The hit rates as a chart: the size of the cache by doubling to the right, hits upwards, a line for each
// policy with its name at the end.
#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "cli/simulation.h"

namespace ft::cli {

namespace {

constexpr double k_width = 960, k_height = 560;
constexpr double k_left = 72, k_right = 840, k_top = 92, k_bottom = 470;

struct LineStyle {
    std::string_view policy, colour;
    double width;
    std::string_view dashes;  // "" : solid
};
// Colours that stay apart for readers who see fewer of them.
constexpr LineStyle k_styles[] = {
    {"lru", "#d55e00", 2, ""},  {"lru-layer", "#e69f00", 2, ""}, {"lfu", "#0072b2", 3, ""},
    {"lfru", "#009e73", 2, ""}, {"static", "#cc79a7", 2, ""},    {"belady", "#555555", 2, "6 4"},
};
constexpr LineStyle k_other_style{"", "#999999", 2, "2 3"};

const LineStyle& line_style_of(std::string_view policy) {
    for (const LineStyle& style : k_styles)
        if (style.policy == policy) return style;
    return k_other_style;
}

std::string xml_escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else if (c == '"') out += "&quot;";
        else out += c;
    }
    return out;
}

class Chart {
 public:
    explicit Chart(const Simulation& simulation)
        : s_(simulation),
          least_(std::log2(simulation.sizes.front().demands)),
          span_(std::max(std::log2(simulation.sizes.back().demands) - least_, 0.1)) {}

    std::string draw() {
        head();
        axes();
        demand_mark();
        for (const Simulation::Line& line : s_.lines) curve(line);
        names();
        out_ += "</svg>\n";
        return std::move(out_);
    }

 private:
    double x(double demands) const {
        return k_left + (std::log2(demands) - least_) / span_ * (k_right - k_left);
    }
    static double y(double rate) { return k_bottom - rate * (k_bottom - k_top); }

    void text(double at_x, double at_y, std::string_view attributes, std::string_view content) {
        out_ +=
            fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", at_x, at_y, attributes, content);
    }
    void line(double x1, double y1, double x2, double y2, std::string_view attributes) {
        out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                            x2, y2, attributes);
    }

    void head() {
        out_ += fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
            "font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#333333\">\n"
            "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
            k_width, k_height);
        text(k_left, 36, "font-size=\"20\" font-weight=\"600\"", "Experts found in the cache");
        text(k_left, 60, "fill=\"#666666\"",
             fmt::format("{}: {} layers of {} experts, {} for a token; {} tokens of an answer",
                         xml_escaped(s_.model), s_.n_layers, s_.n_experts, s_.top_k,
                         s_.n_tokens - s_.n_prompt));
    }

    void axes() {
        for (int percent = 0; percent <= 100; percent += 20) {
            const double at = y(percent / 100.0);
            line(k_left, at, k_right, at, percent ? "stroke=\"#e4e4e4\"" : "stroke=\"#888888\"");
            text(k_left - 10, at + 4.5, "text-anchor=\"end\" fill=\"#666666\"", fmt::format("{} %", percent));
        }
        for (double demands = std::exp2(std::ceil(least_ - 1e-9));
             demands <= s_.sizes.back().demands * 1.0001; demands *= 2) {
            const double at = x(demands);
            line(at, k_bottom, at, k_bottom + 6, "stroke=\"#888888\"");
            text(at, k_bottom + 22, "text-anchor=\"middle\"", fmt::format("{:g}", demands));
            const double slots = demands * static_cast<double>(s_.demand_slots);
            const double gib = demands * static_cast<double>(s_.demand_bytes) / static_cast<double>(k_gib);
            text(at, k_bottom + 38, "text-anchor=\"middle\" fill=\"#888888\" font-size=\"11\"",
                 s_.demand_bytes && gib >= 0.01 ? fmt::format("{:.2f} GiB", gib)
                                                : fmt::format("{:.0f}", slots));
        }
        text((k_left + k_right) / 2, k_bottom + 66, "text-anchor=\"middle\"",
             fmt::format("size of the cache, in multiples of what one token asks for ({} experts)",
                         s_.demand_slots));
    }

    void demand_mark() {
        if (least_ >= 0 || least_ + span_ <= 0) return;
        line(x(1), k_top, x(1), k_bottom, "stroke=\"#bbbbbb\" stroke-dasharray=\"2 4\"");
        text(x(1) + 6, k_top + 10, "fill=\"#888888\" font-size=\"11\"", "one token's demand");
    }

    void curve(const Simulation::Line& found) {
        const LineStyle& style = line_style_of(found.policy.name);
        out_ += fmt::format(
            "<g stroke=\"{0}\" fill=\"{0}\">\n<polyline fill=\"none\" stroke-width=\"{1}\" "
            "stroke-linejoin=\"round\"{2} points=\"",
            style.colour, style.width,
            style.dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", style.dashes));
        for (size_t i = 0; i < s_.sizes.size(); ++i)
            out_ += fmt::format("{:.1f},{:.1f} ", x(s_.sizes[i].demands), y(found.counts[i].hit_rate()));
        out_ += "\"/>\n";
        for (size_t i = 0; i < s_.sizes.size(); ++i)
            out_ += fmt::format(
                "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}, {} slots: {:.1f} % "
                "hits</title></circle>\n",
                x(s_.sizes[i].demands), y(found.counts[i].hit_rate()), style.width + 0.5, found.policy.name,
                s_.sizes[i].slots, 100 * found.counts[i].hit_rate());
        out_ += "</g>\n";
    }

    // The legend stands at the right in the order of the lines' heights where they differ most from each
    // other, at one and a half times the demand.
    void names() {
        std::vector<const Simulation::Line*> order;
        for (const Simulation::Line& line : s_.lines) order.push_back(&line);
        size_t at = 0;
        while (at + 1 < s_.sizes.size() && s_.sizes[at].demands < 1.5) ++at;
        std::stable_sort(order.begin(), order.end(), [at](const auto* a, const auto* b) {
            return a->counts[at].hit_rate() > b->counts[at].hit_rate();
        });
        double height = k_top + 12;
        for (const Simulation::Line* found : order) {
            const LineStyle& style = line_style_of(found->policy.name);
            line(k_right + 18, height - 4, k_right + 40, height - 4,
                 fmt::format(
                     "stroke=\"{}\" stroke-width=\"{}\"{}", style.colour, style.width,
                     style.dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", style.dashes)));
            text(k_right + 48, height,
                 found->policy.name == k_default_policy ? "font-weight=\"600\"" : "fill=\"#444444\"",
                 found->policy.name);
            height += 24;
        }
    }

    const Simulation& s_;
    double least_, span_;  // of log2 of the sizes, in demands
    std::string out_;
};

}  // namespace

std::string simulation_svg(const Simulation& simulation) { return Chart(simulation).draw(); }

}  // namespace ft::cli
