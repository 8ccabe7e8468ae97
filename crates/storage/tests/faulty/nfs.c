/* flock as the client of NFSv4 does it: it asks for a lock on bytes, and an exclusive one of those needs a file that is open for
 * writing, a shared one a file that is open for reading; EBADF otherwise (flock(2), "NFS details"). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

int flock(int fd, int operation) {
    int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
    if (((operation & LOCK_EX) && mode == O_RDONLY) || ((operation & LOCK_SH) && mode == O_WRONLY)) {
        errno = EBADF;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}
