// Which names a server may be called by. A web page can give a name of its own the address 127.0.0.1 (DNS
// rebinding), and then asks a server of this machine as if that were the page's own; the name that it used
// stands in the header Host.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ft {

// host: of the header, with or without a port; "" where there was none, which no browser sends. True for
// addresses, for names that nobody else can own (without a dot, or below localhost or internal), and for
// those in `names`, where "*" is any.
bool may_be_called(std::string_view host, std::span<const std::string> names);

}  // namespace ft
