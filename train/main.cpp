#include <swapadvisor/experiments/command_experiment.h>
#include <swapadvisor/train/cli.h>

int main(int argc, char** argv) {
  return swapadvisor::run_command_line(argc, argv, {swapadvisor::add_experiment_command});
}
