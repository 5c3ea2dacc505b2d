/* frame_eigen.cpp - the same for fragments that name Eigen. */
#include <Eigen/Dense>

#include "frame.cpp"
