#include <swapadvisor/train/cli.h>

int main(int argc, char** argv) { return swapadvisor::run_command_line(argc, argv); }
