// The tests leave the user's cache of plans alone, and measure searches, not files.
#include <gtest/gtest.h>

#include <cstdlib>

namespace swapadvisor {
namespace {

class NoPlanCache : public testing::Environment {
 public:
  void SetUp() override { ::setenv("SWAPADVISOR_CACHE_SIZE", "0", 1); }
};

const testing::Environment* const no_plan_cache = testing::AddGlobalTestEnvironment(new NoPlanCache);

}  // namespace
}  // namespace swapadvisor
