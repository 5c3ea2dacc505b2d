set -e
cd /work/main
F="-std=c++17 -O3 -I src -I include -arch=sm_90a"
v() { sed "s/duo_sgemm_gpu_rank_k/$1/" /tmp/rank_k_trial.cu | sed "s/extern//" > /tmp/trial/$1.cu; sed -i "s/^const duo_gpu_algorithm $1/extern \"C\" const duo_gpu_algorithm $1; const duo_gpu_algorithm $1/" /tmp/trial/$1.cu; nvcc $F $2 -c /tmp/trial/$1.cu -o /tmp/trial/$1.o; }
v rk_8_3_4 "-DTN=8 -DRES=3 -DATONCE=4" & v rk_8_2_8 "-DTN=8 -DRES=2 -DATONCE=8"; wait
v rk_4_4_4 "-DTN=4 -DRES=4 -DATONCE=4" & v rk_4_3_4 "-DTN=4 -DRES=3 -DATONCE=4"; wait
v rk_8_2_4 "-DTN=8 -DRES=2 -DATONCE=4" & v rk_8_3_2 "-DTN=8 -DRES=3 -DATONCE=2"; wait
v rk_np "-DTN=8 -DRES=3 -DATONCE=4 -DNOPREFETCH"
sed "s/duo_sgemm_gpu_ffma/ff_new/" src/gpu/ffma/sgemm_gpu_ffma.cu > /tmp/trial/ff_new.cu
sed "s/duo_sgemm_gpu_ffma/ff_old/" src/gpu/ffma/sgemm_gpu_ffma.cu > /tmp/trial/ff_old.cu
for x in new old; do sed -i "s/^const duo_gpu_algorithm ff_$x/extern \"C\" const duo_gpu_algorithm ff_$x; const duo_gpu_algorithm ff_$x/" /tmp/trial/ff_$x.cu; done
nvcc $F -c /tmp/trial/ff_new.cu -o /tmp/trial/ff_new.o & nvcc -std=c++17 -O3 -I /tmp/trial/src_old -I include -arch=sm_90a -c /tmp/trial/ff_old.cu -o /tmp/trial/ff_old.o; wait
nvcc $F /tmp/trial/trial.cu /tmp/trial/*.o -o /work/main/.dev/trial -lcublas
