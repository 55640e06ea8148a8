// Code that was loaded into this process.
#pragma once

#include <string>

namespace tw::runtime {

class Image {
 public:
  virtual ~Image() = default;
  virtual void* symbol(const std::string& name) const = 0;  // null where it defines none of that name
};

}  // namespace tw::runtime
