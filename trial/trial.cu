#include <cublas_v2.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#include <string>
#include "gpu/kernels.h"
#define V(n) extern "C" const duo_gpu_algorithm n;
V(rk_8_3_4) V(rk_8_2_8) V(rk_4_4_4) V(rk_4_3_4) V(rk_8_2_4) V(rk_8_3_2) V(ff_old) V(ff_new) V(rk_np)
struct Var { const char *name; const duo_gpu_algorithm *a; };
static Var vars[] = {{"rk843", &rk_8_3_4},{"rk828",&rk_8_2_8},{"rk444",&rk_4_4_4},{"rk434",&rk_4_3_4},{"rk824",&rk_8_2_4},{"rk832",&rk_8_3_2},{"rk_np",&rk_np},{"ffold",&ff_old},{"ffnew",&ff_new}};
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){printf("%s: %s\n",#x,cudaGetErrorString(e));exit(1);}}while(0)
__global__ void fill(float*x,size_t n,unsigned s){for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){unsigned h=(unsigned)i*2654435761u+s;h^=h>>15;h*=2246822519u;h^=h>>13;x[i]=(float)(h&0xffffff)/8388608.f-1.f;}}
int main(){
  cublasHandle_t h; cublasCreate(&h); cudaStream_t st; cudaStreamCreate(&st); cublasSetStream(h,st);
  struct S{int64_t m,n,k;char ta,tb;int ga,gb,gc;float beta;};
  S s[]={{10108,12499,1,'n','t',0,0,0,0},{7843,1987,3,'t','t',3,2,6,.5f},{13308,3143,14,'n','t',0,0,0,.5f},{9466,13127,19,'n','t',0,0,0,1},{6708,198,2,'n','t',5,5,1,1},{3950,4833,5,'t','n',0,0,0,.5f},{3549,2001,8,'t','n',0,0,0,.5f},{178,3675,1,'n','t',0,0,0,.5f},{13913,180,6,'t','t',0,0,0,1},{5083,1618,14,'n','t',5,6,4,.5f},{12834,1032,1,'n','n',0,0,0,0},{10082,5540,26,'t','t',0,0,0,0},{448,12924,34,'t','t',1,6,2,0},{255,15601,16,'n','n',3,0,6,1},{1921,119,1,'t','n',1,4,1,1},{5669,9467,8,'t','t',0,0,0,0},{354,1892,1,'t','t',0,0,0,0},{8192,8192,32,'n','n',0,0,0,0},{8192,8192,32,'n','t',0,0,0,1},{4222,143,42,'t','n',0,0,0,.5f},{640,8570,40,'t','t',0,0,0,1},{227,3873,53,'n','n',0,0,0,1},{58,12883,136,'n','n',0,0,0,1},{1600,124,222,'n','n',6,4,4,1},{263,406,13,'t','n',0,0,0,0},{4096,4096,64,'n','n',0,0,0,0},{3000,3000,3000,'n','n',0,0,0,1}};
  size_t N=(size_t)14000*14000; float*A,*B,*C; char*ws; CK(cudaMalloc(&A,N*4));CK(cudaMalloc(&B,N*4));CK(cudaMalloc(&C,N*4));CK(cudaMalloc(&ws,256<<20));
  fill<<<1024,256>>>(A,N,1);fill<<<1024,256>>>(B,N,2);
  for(auto&v:vars)CK(v.a->load());
  cudaDeviceProp pr;cudaGetDeviceProperties(&pr,0);
  cudaEvent_t e0,e1;cudaEventCreate(&e0);cudaEventCreate(&e1);
  printf("%-34s %9s %7s","shape","cublas us","GB/s C"); for(auto&v:vars)printf(" %7s",v.name); printf("  memset us\n");
  std::vector<float> ref,got;
  for(auto&x:s){
    int64_t lda=(x.ta=='n'?x.m:x.k)+x.ga, ldb=(x.tb=='n'?x.k:x.n)+x.gb, ldc=x.m+x.gc;
    duo_call call; memset(&call,0,sizeof call); call.operation=DUO_SGEMM; call.transa=x.ta=='t';call.transb=x.tb=='t';call.m=x.m;call.n=x.n;call.k=x.k;call.alpha=1.f;call.beta=x.beta;
    call.operand[DUO_A].address=A;call.operand[DUO_A].ld=lda;call.operand[DUO_B].address=B;call.operand[DUO_B].ld=ldb;call.operand[DUO_C].address=C;call.operand[DUO_C].ld=ldc;
    duo_launch how; memset(&how,0,sizeof how); how.stream=st;how.multiprocessors=pr.multiProcessorCount;how.capability=90;how.cache_bytes=pr.l2CacheSize;how.workspace=ws;how.workspace_bytes=256<<20;
    int nv=sizeof vars/sizeof*vars; std::vector<std::vector<float>> t(nv+2);
    float one=1.f,beta=x.beta;
    double worst[16]={0};
    auto run=[&](int v){ if(v==nv) cublasSgemm(h,x.ta=='t'?CUBLAS_OP_T:CUBLAS_OP_N,x.tb=='t'?CUBLAS_OP_T:CUBLAS_OP_N,x.m,x.n,x.k,&one,A,lda,B,ldb,&beta,C,ldc); else if(v==nv+1) cudaMemsetAsync(C,0,(size_t)ldc*x.n*4,st); else CK(vars[v].a->launch(&call,&how)); };
    /* right? */
    size_t cn=(size_t)ldc*x.n, chk=std::min(cn,(size_t)3000000);
    for(int v=nv;v>=0;v--){ if(v<7&&x.k>64)continue; fill<<<1024,256,0,st>>>(C,cn,3); run(v); CK(cudaStreamSynchronize(st)); got.resize(2*chk); CK(cudaMemcpy(got.data(),C,chk*4,cudaMemcpyDeviceToHost));CK(cudaMemcpy(got.data()+chk,C+cn-chk,chk*4,cudaMemcpyDeviceToHost)); if(v==nv)ref=got; double w=0; for(size_t i=0;i<2*chk;i++){double d=fabs((double)got[i]-ref[i]); if(!(d<=w))w=d;} worst[v]=w; }
    int inner = x.m*x.n*(x.k+20) > 300000000 ? 5 : 30;
    for(int r=0;r<7;r++) for(int v=0;v<nv+2;v++){ if(v<7&&x.k>64)continue; run(v); cudaEventRecord(e0,st); for(int i=0;i<inner;i++)run(v); cudaEventRecord(e1,st); CK(cudaEventSynchronize(e1)); float ms;cudaEventElapsedTime(&ms,e0,e1); t[v].push_back(ms/inner*1000);}
    auto med=[&](int v){ if(t[v].empty())return 0.f; std::sort(t[v].begin(),t[v].end()); return t[v][3];};
    float cb=med(nv); char name[80]; sprintf(name,"%ldx%ldx%ld %c%c +%d,%d,%d b=%g",x.m,x.n,x.k,x.ta,x.tb,x.ga,x.gb,x.gc,x.beta);
    printf("%-34s %9.1f %7.0f",name,cb,x.m*x.n*4.0/cb/1e3); for(int v=0;v<nv;v++)printf(" %7.1f",med(v)); printf("  %7.1f  ",med(nv+1)); double w=0;for(int v=0;v<nv;v++)if(!(worst[v]<=w))w=worst[v]; printf("diff %.1e\n",w); fflush(stdout);
  }
}
