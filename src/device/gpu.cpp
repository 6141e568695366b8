#include "device/gpu.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "device/cgroup.h"

namespace ft {

namespace {

namespace fs = std::filesystem;

std::string first_line_of(const fs::path& path) {
    std::string text = read_system_file(path.string()).value_or("");
    return text.substr(0, text.find('\n'));
}

uint64_t number_of(const fs::path& path) { return std::strtoull(first_line_of(path).c_str(), nullptr, 10); }

std::vector<fs::path> entries(const fs::path& folder) {
    std::vector<fs::path> paths;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
        paths.push_back(it->path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::string vendor_name(const std::string& number) {
    if (number == "0x10de") return "NVIDIA";
    if (number == "0x1002") return "AMD";
    if (number == "0x8086") return "Intel";
    return number;
}

// "550.54.14" in the line of /proc/driver/nvidia/version.
std::string nvidia_driver(const std::string& root) {
    const std::string line = first_line_of(root + "/proc/driver/nvidia/version");
    for (size_t begin = 0; begin < line.size();) {
        const size_t end = std::min(line.find(' ', begin), line.size());
        const std::string word = line.substr(begin, end - begin);
        if (!word.empty() && word[0] >= '0' && word[0] <= '9' && word.find('.') != std::string::npos)
            return "nvidia " + word;
        begin = end + 1;
    }
    return line.empty() ? "" : "nvidia";
}

// Cards of /sys that are no NVIDIA ones with a driver of its own, which shows them better.
void add_from_sys(const std::string& root, bool has_nvidia, std::vector<Gpu>& gpus) {
    for (const fs::path& card : entries(root + "/sys/class/drm")) {
        const std::string name = card.filename().string();
        if (!name.starts_with("card") || name.find('-') != std::string::npos) continue;
        const fs::path device = card / "device";
        const std::string vendor = vendor_name(first_line_of(device / "vendor"));
        if (vendor.empty() || (has_nvidia && vendor == "NVIDIA")) continue;
        if (vendor != "NVIDIA" && vendor != "AMD" && vendor != "Intel")
            continue;  // screens of virtual machines
        Gpu gpu{.name = fmt::format("{} {}", vendor, first_line_of(device / "device")),
                .vendor = vendor,
                .driver = "",
                .total_bytes = number_of(device / "mem_info_vram_total"),
                .used_bytes = number_of(device / "mem_info_vram_used")};
        std::error_code failed;
        const fs::path driver = fs::read_symlink(device / "driver", failed);
        if (!failed) gpu.driver = driver.filename().string();
        gpus.push_back(std::move(gpu));
    }
}

void add_from_nvidia_files(const std::string& root, std::vector<Gpu>& gpus) {
    for (const fs::path& folder : entries(root + "/proc/driver/nvidia/gpus")) {
        const std::string text = read_system_file((folder / "information").string()).value_or("");
        const size_t at = text.find("Model:");
        std::string name =
            at == std::string::npos ? "NVIDIA card" : text.substr(at + 6, text.find('\n', at) - at - 6);
        name.erase(0, name.find_first_not_of(" \t"));
        gpus.push_back({.name = name, .vendor = "NVIDIA", .driver = nvidia_driver(root)});
    }
}

struct CloseLibrary {
    void operator()(void* library) const { dlclose(library); }
};

// NVIDIA's management library: names and memory of its cards.
class NvidiaLibrary {
 public:
    NvidiaLibrary() : library_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
        const auto init = find<int()>("nvmlInit_v2");
        open_ = init != nullptr && init() == 0;
    }
    ~NvidiaLibrary() {
        const auto end = find<int()>("nvmlShutdown");
        if (open_ && end != nullptr) end();
    }

    void add(const std::string& driver, std::vector<Gpu>& gpus) const {
        const auto count = find<int(unsigned*)>("nvmlDeviceGetCount_v2");
        const auto device_at = find<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
        const auto name_of = find<int(void*, char*, unsigned)>("nvmlDeviceGetName");
        const auto memory_of = find<int(void*, Memory*)>("nvmlDeviceGetMemoryInfo");
        unsigned n = 0;
        if (!open_ || !count || !device_at || !name_of || !memory_of || count(&n) != 0) return;
        for (unsigned i = 0; i < n; i++) {
            void* device = nullptr;
            char name[96] = "";
            Memory memory{};
            if (device_at(i, &device) != 0 || name_of(device, name, sizeof name) != 0) continue;
            if (memory_of(device, &memory) != 0) memory = {};
            gpus.push_back({name, "NVIDIA", driver, memory.total, memory.used});
        }
    }

 private:
    struct Memory {
        unsigned long long total, free, used;
    };
    template <class F>
    F* find(const char* name) const {
        return library_ ? reinterpret_cast<F*>(dlsym(library_.get(), name)) : nullptr;
    }
    std::unique_ptr<void, CloseLibrary> library_;
    bool open_ = false;
};

}  // namespace

std::vector<Gpu> find_gpus(const std::string& root) {
    std::vector<Gpu> gpus;
    if (root.empty()) NvidiaLibrary().add(nvidia_driver(root), gpus);
    if (gpus.empty()) add_from_nvidia_files(root, gpus);
    add_from_sys(root, !gpus.empty(), gpus);
    return gpus;
}

}  // namespace ft
