#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

namespace swapadvisor {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Earlier entries win.
std::vector<std::string> with_ours(std::vector<std::string> environment) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string ours = *entry, name = ours.substr(0, ours.find('=') + 1);
    bool replaced = false;
    for (const std::string& given : environment) replaced = replaced || given.starts_with(name);
    if (!replaced) environment.push_back(ours);
  }
  return environment;
}

}  // namespace

Process::Process(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  std::vector<std::string> arguments{SWAPADVISOR_PROGRAM}, variables = with_ours(environment);
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::array<int, 2> ends{};
  std::string name = "/tmp/swapadvisor.out.XXXXXX";
  out_file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (out_file_ < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe for a process");
  ::unlink(name.c_str());
  error_pipe_ = ends[0];
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, out_file_, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A test before may have blocked signals in this process.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failed = ::posix_spawn(&process_, SWAPADVISOR_PROGRAM, &files, &attributes,
                                   pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (failed != 0) throw std::runtime_error("cannot start " SWAPADVISOR_PROGRAM);
}

Process::~Process() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(error_pipe_);
  ::close(out_file_);
}

bool Process::read_error() {
  std::array<char, 4096> bytes{};
  ssize_t count = -1;
  do count = ::read(error_pipe_, bytes.data(), bytes.size());
  while (count < 0 && errno == EINTR);
  if (count > 0) error_.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

bool Process::wait_for(const std::string& text) {
  while (error_.find(text) == std::string::npos)
    if (!read_error()) return false;
  return true;
}

void Process::signal(int number) {
  ::kill(process_, number);
}

bool Process::is_running() const {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

int Process::finish() {
  while (read_error()) continue;
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  std::array<char, 4096> bytes{};
  off_t at = 0;
  for (ssize_t count = 0; (count = ::pread(out_file_, bytes.data(), bytes.size(), at)) > 0; at += count)
    out_.append(bytes.data(), static_cast<std::size_t>(count));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace swapadvisor
