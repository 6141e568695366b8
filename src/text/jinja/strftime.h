// strftime_now: a local time in the C locale, whatever locale the process has.
#pragma once

#include <string>
#include <string_view>

namespace ft::jinja {

class Heap;

struct LocalTime {
    int year = 1970, month = 1, day = 1;  // month and day from 1
    int hour = 0, minute = 0, second = 0, microsecond = 0;
};

LocalTime local_time_now();
// Conversions of C and their padding flags (%-d, %_d, %0e); no time zone is known, so %z and %Z give nothing.
// Others are refused.
std::string format_time(Heap& heap, std::string_view format, const LocalTime& time);

}  // namespace ft::jinja
