// Commands on another machine, by the system's ssh client and as its configuration says: one connection, which never
// asks for a password.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/support/temporary_folder.h"

namespace tw::tools {

class Ssh {
 public:
  struct Done {
    int code = 0;  // of the command
    std::string out, err;
  };

  // `host` as ssh takes it; options as its -o. Nothing is done yet.
  Ssh(std::string host, std::vector<std::string> options);
  ~Ssh();
  Ssh(const Ssh&) = delete;
  Ssh& operator=(const Ssh&) = delete;

  // `input` is the command's stdin. Throws tw::Error (kRpc) where ssh gets no connection, with its words.
  Done run(const std::string& command, std::string_view input = {});
  // What it prints appears here, until it ends.
  int show(const std::string& command);

  const std::string& host() const { return host_; }

 private:
  std::vector<std::string> arguments() const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string host_;
  std::vector<std::string> options_;
  support::TemporaryFolder folder_;  // of the connection's socket
};

// As one word of a shell's command.
std::string shell_word(std::string_view text);

}  // namespace tw::tools
