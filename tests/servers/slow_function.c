/*
 * A server of one thread with known slow functions: `fast\n` is work of about 20 us, `slow\n` of about 3 ms, and `wait\n`
 * sleeps for 3 ms.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;

static __attribute__((noinline)) void work_fast(void)
{
    for (int i = 0; i < 20000; i++)
        sum += i;
}

static __attribute__((noinline)) void work_slow(void)
{
    for (int i = 0; i < 3000000; i++)
        sum += i;
}

/* The C library may have no frame pointers, and would hide this function. */
static __attribute__((noinline)) void work_wait(void)
{
    struct timespec pause = { 0, 3000000 };
    long result = SYS_nanosleep;
    __asm__ volatile("syscall" : "+a"(result) : "D"(&pause), "S"(0) : "rcx", "r11", "memory");
}

static void serve(int connection)
{
    char request[16];
    ssize_t length = read(connection, request, sizeof request);
    if (length <= 0) {
        close(connection);
        return;
    }
    if (request[0] == 's')
        work_slow();
    else if (request[0] == 'w')
        work_wait();
    else
        work_fast();
    (void)!write(connection, "done\n", 5);
}

int main(int count, char **arguments)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    address.sin_port = htons(atoi(arguments[count - 1]));
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16))
        return 1;
    int connection = -1;
    for (;;) {
        struct pollfd waiting[2] = { { listener, POLLIN, 0 }, { connection, POLLIN, 0 } };
        poll(waiting, 2, -1);
        if (waiting[0].revents)
            connection = accept(listener, NULL, NULL);
        else if (waiting[1].revents)
            serve(connection);
    }
}
