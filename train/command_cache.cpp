// cache: the plans that searches left, and how to be rid of them.
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/plan_cache.h>

namespace swapadvisor {
namespace {

void run_cache(bool clear, const OutputOptions& output) {
  const std::optional<PlanCache> cache = user_plan_cache();
  if (!cache)
    fail("there is no cache: none of SWAPADVISOR_CACHE_DIR, XDG_CACHE_HOME and HOME names a folder");
  const PlanCache::Contents removed = clear ? cache->clear() : PlanCache::Contents{};
  const PlanCache::Contents left = cache->contents();
  if (output.json) {
    nlohmann::ordered_json object{{"directory", cache->directory()},
                                  {"plans", left.plans},
                                  {"bytes", left.bytes},
                                  {"bytes_limit", cache->max_bytes()}};
    if (clear) object.update({{"removed_plans", removed.plans}, {"removed_bytes", removed.bytes}});
    print_json(object);
    return;
  }
  fmt::print("directory   {}\n", cache->directory());
  if (clear) fmt::print("removed     {} plans, {}\n", removed.plans, format_bytes(removed.bytes));
  fmt::print("plans       {}\n", left.plans);
  fmt::print("size        {}, at most {}\n", format_bytes(left.bytes), format_bytes(cache->max_bytes()));
}

}  // namespace

void add_cache_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("cache", "Show the cache of searched plans, or clear it");
  auto clear = std::make_shared<bool>(false);
  auto output = std::make_shared<OutputOptions>();
  output->add_to(*command);
  command->add_flag("--clear", *clear, "Remove every plan in the cache");
  command->footer(
      "A plan that a search found is kept, and used when the same is asked again.\n"
      "Environment: SWAPADVISOR_CACHE_DIR, the folder (else $XDG_CACHE_HOME/swapadvisor,\n"
      "else ~/.cache/swapadvisor); SWAPADVISOR_CACHE_SIZE, its largest size (1GiB): plans\n"
      "used longest ago go first, 0 turns the cache off.");
  command->callback([=] { run_cache(*clear, *output); });
}

}  // namespace swapadvisor
