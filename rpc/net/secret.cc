#include "rpc/net/secret.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rpc/wire/digest.h"
#include "src/support/descriptor.h"
#include "tensorwright/error.h"

namespace tw::rpc {
namespace {

constexpr std::string_view kMark = "tensorwright-secret 1 ";
constexpr size_t kFileBytes = kMark.size() + 64 + 1;

[[noreturn]] void refuse(const std::string& path, const std::string& why, std::vector<std::string> notes) {
  throw Error(Diagnostic{ErrorKind::kRpc, "the secret file " + path + " " + why, {}, std::move(notes)});
}

const std::string kMakeOne = "make one: tw rpc-key new farm.secret, and copy it to the machines of the farm";

}  // namespace

Secret new_secret(const std::string& path) {
  Secret secret;
  TW_CHECK(RAND_bytes(secret.bytes.data(), static_cast<int>(secret.bytes.size())) == 1);
  const support::Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0 && errno == EEXIST)
    refuse(path, "is there already",
           {"it is not replaced: other machines may have it. Remove it first, or name another"});
  if (file.get() < 0) refuse(path, std::string("cannot be made: ") + std::strerror(errno), {});
  const std::string text = std::string(kMark) + to_hex(Digest{secret.bytes}) + "\n";
  const bool whole = fchmod(file.get(), 0600) == 0 &&
                     write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                     fsync(file.get()) == 0;
  if (whole) return secret;
  const std::string why = std::strerror(errno);
  unlink(path.c_str());
  refuse(path, "cannot be written: " + why, {});
}

Secret read_secret(const std::string& path) {
  const support::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) refuse(path, std::string("cannot be read: ") + std::strerror(errno), {kMakeOne});
  struct stat status;
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) refuse(path, "is no file", {kMakeOne});
  if ((status.st_mode & 077) != 0)
    refuse(path, "may be read by others than its owner",
           {"whoever reads it can use the farm: chmod 600 " + path + ", and make a new one if somebody else may have"});
  std::string text(kFileBytes + 1, '\0');
  const ssize_t count = read(file.get(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  if (text.starts_with(kMark) && text.size() == kFileBytes && text.back() == '\n')
    if (const auto digest = digest_from_hex(std::string_view(text).substr(kMark.size(), 64))) return {digest->bytes};
  refuse(path, "holds no secret of Tensorwright", {kMakeOne});
}

std::optional<Secret> secret_in(const std::string& path) {
  return path.empty() ? std::nullopt : std::optional(read_secret(path));
}

}  // namespace tw::rpc
