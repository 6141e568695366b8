#include "text/jinja/strftime.h"

#include <chrono>
#include <ctime>

#include "base/error.h"
#include "text/jinja/heap.h"

namespace ft::jinja {

namespace {

constexpr std::string_view k_days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
constexpr std::string_view k_months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};

struct Calendar {
    int weekday;   // 0 Sunday
    int year_day;  // 0 first of January
    int iso_year;
    int iso_week;
};

int weeks_of_iso_year(std::chrono::year year) {
    using namespace std::chrono;
    const unsigned jan_1 = weekday(sys_days(year / January / 1)).iso_encoding();
    return jan_1 == 4 || (jan_1 == 3 && year.is_leap()) ? 53 : 52;
}

Calendar calendar_of(const LocalTime& t) {
    using namespace std::chrono;
    const year_month_day date{year{t.year}, month{static_cast<unsigned>(t.month)},
                              day{static_cast<unsigned>(t.day)}};
    const sys_days at = date;
    Calendar c{};
    c.weekday = static_cast<int>(weekday(at).c_encoding());
    c.year_day = static_cast<int>((at - sys_days(date.year() / January / 1)).count());
    // The ISO week belongs to the year that its Thursday lies in.
    const int monday_based = (c.weekday + 6) % 7;
    const int week = (c.year_day - monday_based + 10) / 7;
    c.iso_year = t.year;
    c.iso_week = week;
    if (week < 1) c.iso_week = weeks_of_iso_year(year{--c.iso_year});
    else if (week > weeks_of_iso_year(date.year())) {
        c.iso_week = 1;
        c.iso_year++;
    }
    return c;
}

std::string number(int value, int width, char fill, char flag) {
    if (flag == '-') return std::to_string(value);
    const char pad = flag == '_' ? ' ' : flag == '0' ? '0' : fill;
    std::string digits = std::to_string(value);
    while (static_cast<int>(digits.size()) < width) digits.insert(0, 1, pad);
    return digits;
}

std::string expand(std::string_view format, const LocalTime& t, const Calendar& c);

std::string conversion(char type, char flag, const LocalTime& t, const Calendar& c) {
    const int hour_12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
    const std::string_view day = k_days[c.weekday];
    const std::string_view month = k_months[t.month - 1];
    switch (type) {
        case 'a':
            return std::string(day.substr(0, 3));
        case 'A':
            return std::string(day);
        case 'b':
        case 'h':
            return std::string(month.substr(0, 3));
        case 'B':
            return std::string(month);
        case 'c':
            return expand("%a %b %e %H:%M:%S %Y", t, c);
        case 'C':
            return number(t.year / 100, 2, '0', flag);
        case 'd':
            return number(t.day, 2, '0', flag);
        case 'D':
        case 'x':
            return expand("%m/%d/%y", t, c);
        case 'e':
            return number(t.day, 2, ' ', flag);
        case 'f':
            return number(t.microsecond, 6, '0', 0);
        case 'F':
            return expand("%Y-%m-%d", t, c);
        case 'g':
            return number(c.iso_year % 100, 2, '0', flag);
        case 'G':
            return number(c.iso_year, 4, '0', flag);
        case 'H':
            return number(t.hour, 2, '0', flag);
        case 'I':
            return number(hour_12, 2, '0', flag);
        case 'j':
            return number(c.year_day + 1, 3, '0', flag);
        case 'k':
            return number(t.hour, 2, ' ', flag);
        case 'l':
            return number(hour_12, 2, ' ', flag);
        case 'm':
            return number(t.month, 2, '0', flag);
        case 'M':
            return number(t.minute, 2, '0', flag);
        case 'n':
            return "\n";
        case 'p':
            return t.hour < 12 ? "AM" : "PM";
        case 'P':
            return t.hour < 12 ? "am" : "pm";
        case 'r':
            return expand("%I:%M:%S %p", t, c);
        case 'R':
            return expand("%H:%M", t, c);
        case 'S':
            return number(t.second, 2, '0', flag);
        case 't':
            return "\t";
        case 'T':
        case 'X':
            return expand("%H:%M:%S", t, c);
        case 'u':
            return std::to_string(c.weekday == 0 ? 7 : c.weekday);
        case 'U':
            return number((c.year_day + 7 - c.weekday) / 7, 2, '0', flag);
        case 'V':
            return number(c.iso_week, 2, '0', flag);
        case 'w':
            return std::to_string(c.weekday);
        case 'W':
            return number((c.year_day + 7 - (c.weekday + 6) % 7) / 7, 2, '0', flag);
        case 'y':
            return number(t.year % 100, 2, '0', flag);
        case 'Y':
            return number(t.year, 4, '0', flag);
        case 'z':
        case 'Z':
            return "";
        case '%':
            return "%";
        default:
            throw Failure(fmt::format("strftime: the conversion %{} is not supported",
                                      printable(std::string(1, type))));
    }
}

std::string expand(std::string_view format, const LocalTime& t, const Calendar& c) {
    std::string out;
    for (size_t at = 0; at < format.size(); at++) {
        if (format[at] != '%') {
            out += format[at];
            continue;
        }
        char flag = 0;
        if (++at < format.size() && (format[at] == '-' || format[at] == '_' || format[at] == '0'))
            flag = format[at++];
        if (at >= format.size()) throw Failure("strftime: the format ends inside a conversion");
        out += conversion(format[at], flag, t, c);
    }
    return out;
}

}  // namespace

LocalTime local_time_now() {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    const auto fraction =
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
    std::tm tm{};
    localtime_r(&seconds, &tm);
    return {tm.tm_year + 1900,         tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
            static_cast<int>(fraction)};
}

std::string format_time(Heap& heap, std::string_view format, const LocalTime& time) {
    heap.check_string(format.size() * 12);  // no conversion is longer than 24 letters for its two
    return expand(format, time, calendar_of(time));
}

}  // namespace ft::jinja
