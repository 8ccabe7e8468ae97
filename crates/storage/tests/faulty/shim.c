/* A file system that fails: loaded into a process before all else, it does system calls on chosen files badly.
 *
 * Calls are caught by the kernel (a seccomp filter that raises SIGSYS), not by their names in the C library, because the
 * program makes some without it. The handler makes the real calls by the one instruction that the filter lets through.
 *
 * FAULTY_FILE  the end of the paths that are meant
 * FAULTY_KIND  short: writes and reads stop early, and every fifth call is interrupted
 *              full:  FAULTY_FOR writes, from the FAULTY_AT-th on, find no space; the first of them writes a part
 *              told:  at the FAULTY_AT-th sync the medium has lost what was written; each open file is told once (EIO),
 *                     by its next sync, and by none after that
 * Each error is told as a line on standard output, before the call returns. Exits with 77 where the kernel has no filters.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define FILES 4096
#define BLOCK 4096
#define DSYNC 2 /* RWF_DSYNC */

static const char *file_end, *kind;
static long fault_at, fault_for;
static long writes, syncs, calls;
static long losses;      /* How often the medium lost something. */
static long told[FILES]; /* Of those, how many each descriptor was told. */

/* shim_call(number, a, b, c, d, e, f); the kernel sees shim_called as where the call came from. */
long shim_call(long number, long a, long b, long c, long d, long e, long f);
extern char shim_called[];
__asm__(".text\n.globl shim_call\n.hidden shim_call\nshim_call:\n"
        "mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\nmov %r8, %r10\nmov %r9, %r8\n"
        "mov 8(%rsp), %r9\nsyscall\n.globl shim_called\n.hidden shim_called\nshim_called:\nret\n");

static long next(long *counter) { return __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST); }
static int is(const char *name) { return strcmp(kind, name) == 0; }

static void say(const char *what) { shim_call(SYS_write, 1, (long)what, (long)strlen(what), 0, 0, 0); }

static int is_meant(long fd) {
    char link[32] = "/proc/self/fd/", path[4096], digits[20];
    int at = 14, count = 0;
    if (fd < 0 || fd >= FILES) return 0;
    do digits[count++] = (char)('0' + fd % 10); while ((fd /= 10) > 0);
    while (count > 0) link[at++] = digits[--count];
    link[at] = 0;
    long length = shim_call(SYS_readlink, (long)link, (long)path, sizeof path - 1, 0, 0, 0);
    long end = (long)strlen(file_end);
    return length >= end && memcmp(path + length - end, file_end, (size_t)end) == 0;
}

static int is_direct(long fd) { return (shim_call(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_DIRECT) != 0; }

/* Fewer bytes than were asked for: whole blocks where the cache is passed by, anything from one on elsewhere. */
static long shortened(long fd, long length, long draw) {
    if (is_direct(fd)) return length > BLOCK ? BLOCK * (1 + draw % (length / BLOCK)) : length;
    return length > 1 ? 1 + draw % length : length;
}

/* What a sync of this descriptor says; `real` is what it really came to. */
static long synced(long fd, long real) {
    if (!is("told")) return real;
    if (next(&syncs) == fault_at) next(&losses);
    long lost = __atomic_load_n(&losses, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&told[fd], lost, __ATOMIC_SEQ_CST) == lost) return real;
    say("lost\n");
    return -EIO;
}

static long write_badly(long number, long *arg) {
    long fd = arg[0], length = arg[2], at = next(&writes);
    struct iovec part;
    if (number == SYS_pwritev2) {
        part = *(struct iovec *)arg[1];
        length = (long)part.iov_len;
    }
    if (is("short")) {
        if (at % 5 == 0) return -EINTR;
        length = shortened(fd, length, at * 7919);
    }
    if (is("full") && at >= fault_at && at < fault_at + fault_for) {
        if (at > fault_at || length <= BLOCK) {
            say("full\n");
            return -ENOSPC;
        }
        length = BLOCK;
    }
    if (number != SYS_pwritev2) return shim_call(number, fd, arg[1], length, arg[3], arg[4], arg[5]);
    part.iov_len = (size_t)length;
    long done = shim_call(number, fd, (long)&part, 1, arg[3], arg[4], arg[5]);
    return done >= 0 && (arg[5] & DSYNC) ? synced(fd, done) : done;
}

static long read_badly(long number, long *arg) {
    long fd = arg[0], at = next(&calls);
    if (!is("short")) return shim_call(number, fd, arg[1], arg[2], arg[3], arg[4], arg[5]);
    if (at % 5 == 0) return -EINTR;
    long length = number == SYS_preadv ? 1 + at * 7919 % arg[2] : shortened(fd, arg[2], at * 7919);
    return shim_call(number, fd, arg[1], length, arg[3], arg[4], arg[5]);
}

static long call(long number, long *arg) {
    if (number == SYS_openat) {
        long fd = shim_call(number, arg[0], arg[1], arg[2], arg[3], 0, 0);
        /* Who opens after a loss was told is not told again. */
        if (fd >= 0 && fd < FILES) __atomic_store_n(&told[fd], __atomic_load_n(&losses, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
        return fd;
    }
    if (!is_meant(arg[0])) return shim_call(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
    switch (number) {
    case SYS_pwrite64:
    case SYS_pwritev2: return write_badly(number, arg);
    case SYS_pread64:
    case SYS_preadv: return read_badly(number, arg);
    default: return synced(arg[0], shim_call(number, arg[0], 0, 0, 0, 0, 0));
    }
}

static void caught(int signal, siginfo_t *info, void *context) {
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    long arg[6] = {regs[REG_RDI], regs[REG_RSI], regs[REG_RDX], regs[REG_R10], regs[REG_R8], regs[REG_R9]};
    (void)signal;
    regs[REG_RAX] = call(info->si_syscall, arg);
}

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define FIELD_HIGH(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name) + 4)
#define CATCH(number, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, left, 0)

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("FAULTY_AT"), *length = getenv("FAULTY_FOR");
    file_end = getenv("FAULTY_FILE");
    kind = getenv("FAULTY_KIND");
    if (!file_end || !kind) return;
    fault_at = at ? atol(at) : 0;
    fault_for = length ? atol(length) : 0;
    uint64_t here = (uint64_t)(uintptr_t)shim_called;
    struct sock_filter filter[] = {
        FIELD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 12),
        FIELD(instruction_pointer),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)here, 0, 2),
        FIELD_HIGH(instruction_pointer),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(here >> 32), 8, 0),
        FIELD(nr),
        CATCH(SYS_pwrite64, 7),
        CATCH(SYS_pwritev2, 6),
        CATCH(SYS_pread64, 5),
        CATCH(SYS_preadv, 4),
        CATCH(SYS_fsync, 3),
        CATCH(SYS_fdatasync, 2),
        CATCH(SYS_openat, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(77);
}
