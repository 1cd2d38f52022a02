// Threads of the core, of which the calling one is always one.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace scstream {

#ifdef _WIN32
inline std::int64_t process() { return 0; }  // none is ever forked
#else
inline std::int64_t process() { return getpid(); }
#endif

// They are started when they are first wanted, and wait until the process ends. They do not live on
// in a forked process: there, and while another caller has them, work is done by the calling thread.
class Pool {
  public:
    static Pool &the() {
        static Pool *const pool = new Pool;  // never destroyed: its threads would be running still
        return *pool;
    }

    // Let at most so many threads do some work, which they share among themselves.
    void run(std::int64_t threads, const std::function<void()> &work) {
        if (threads < 2 || !is_ours() || busy_.test_and_set(std::memory_order_acquire))
            return work();
        start(threads - 1);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            work_ = &work;
            wanted_ = threads - 1;
        }
        wake_.notify_all();
        do_work(work);
        std::exception_ptr failed;
        {
            std::unique_lock<std::mutex> lock(mutex_);
            wanted_ = 0;  // nothing is left for those that have not begun
            done_.wait(lock, [this] { return working_ == 0; });
            std::swap(failed, failed_);
        }
        busy_.clear(std::memory_order_release);
        if (failed) std::rethrow_exception(failed);
    }

  private:
    bool is_ours() const {
        const std::int64_t owner = owner_.load();
        return owner == 0 || owner == process();
    }

    void start(std::int64_t threads) {
        owner_ = process();
        try {
            for (; started_ < threads; ++started_) std::thread([this] { serve(); }).detach();
        } catch (const std::system_error &) {
            return;  // there are no more: those that are do the work
        }
    }

    [[noreturn]] void serve() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return wanted_ > 0; });
            --wanted_;
            ++working_;
            const std::function<void()> &work = *work_;
            lock.unlock();
            do_work(work);
            lock.lock();
            if (--working_ == 0) done_.notify_one();
        }
    }

    void do_work(const std::function<void()> &work) {
        try {
            work();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!failed_) failed_ = std::current_exception();
        }
    }

    std::atomic<std::int64_t> owner_{0};  // the process whose threads these are, 0 for none
    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void()> *work_ = nullptr;
    std::int64_t started_ = 0, wanted_ = 0, working_ = 0;
    std::exception_ptr failed_;
};

// Do some jobs on at most so many threads. Each that takes part begins once: what `begin` returns
// does the jobs that it is called with.
template <typename Begin>
void together(std::int64_t threads, std::int64_t jobs, const Begin &begin) {
    std::atomic<std::int64_t> next{0};
    Pool::the().run(std::min(threads, jobs), [&] {
        std::int64_t i = next++;
        if (i >= jobs) return;
        auto job = begin();
        for (; i < jobs; i = next++) job(i);
    });
}

}  // namespace scstream
