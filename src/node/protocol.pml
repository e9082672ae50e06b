// SPDX-License-Identifier: BSD-3-Clause
/* The channels of a node, as channel.cpp, arena.cpp and, for what is agreed above them,
   transport/node.cpp, transport/copying_receiver.cpp, sidecar/sidecar_job.cpp,
   simulation/publisher.cpp and subscribers.cpp have them: simulation ranks that publish, one
   sidecar job after another in the primary slot, and attached jobs that come and go in a slot of
   their own. Any process may be killed between any two steps; tests/model has all orders of steps
   searched.

   Checked: what is read is what was published and stays so until it is finished (nothing is lost,
   doubled or overwritten in use). Messages that died with a sidecar job are counted once, and none
   is offered twice. The simulation may take its memory back from an attached job at any time. What
   the job copies of a message is whole, or is not used. Sidecar jobs never share the primary slot.
   No process waits for ever, and a time-out is needed only where a process has died. BROKEN_...
   takes one precaution away; each must be found out.

   Left out: stray stores (tests/unit/node/stray_test.cpp), analyses, heads and spill (other arenas of the same kind), checkpoints, attached jobs
   that are turned away, a sidecar job that leaves the primary slot in mid-run (a death between two
   messages), dozing (looks that only come later), and weak memory (the words are sequentially
   consistent). An attached job that waits to be admitted looks now and then. A death is seen at once
   by a process that looks; a process that is stopped is a slow one. Freed memory is wiped, so that a
   process that still reads it is found out. */

#ifndef CHANNELS
#define CHANNELS 1  // simulation ranks, and ranks of each sidecar job
#endif
#ifndef SIDECAR_JOBS
#define SIDECAR_JOBS 2
#endif
#ifndef ATTACHED_JOBS
#define ATTACHED_JOBS 0  // with one channel only
#endif
#ifndef OFFERS
#define OFFERS 2  // times that the simulation may publish
#endif
#ifndef WAIT
#define WAIT 1  // policy when there is no room: wait, or skip
#endif
#ifndef SIMULATION_DEATHS
#define SIMULATION_DEATHS 1  // at most
#endif
#ifndef PRIMARY_DEATHS
#define PRIMARY_DEATHS 2
#endif
#ifndef ATTACHED_JOB_DEATHS
#define ATTACHED_JOB_DEATHS ATTACHED_JOBS
#endif
#define UNITS 3    // memory for values; a message takes one or two
#define RECORDS 4
#define VALUE_RECORDS 2  // that messages with values may fill

#define SIMULATION(l) (1 + (l))
#define SIDECAR(c, l) (1 + CHANNELS + (c) * CHANNELS + (l))
#define ATTACHED_JOB(g) SIDECAR(SIDECAR_JOBS, g)
#define PROCESSES ATTACHED_JOB(ATTACHED_JOBS)
#define FIRST_READER SIDECAR(0, 0)
#define PEER(p) (l == 0 -> (p) + 1 : (p) - 1)
#define me _pid

#define PRIMARY 0
#define VISITOR 1
#if ATTACHED_JOBS > 0
#define SLOTS 2
#define WITH_ATTACHED_JOBS(...) __VA_ARGS__
#else
#define SLOTS 1
#define WITH_ATTACHED_JOBS(...)
#endif
#if CHANNELS > 1
#define WITH_CHANNELS(...) __VA_ARGS__
#else
#define WITH_CHANNELS(...)
#endif
#define when(condition, ...) if :: condition -> __VA_ARGS__ :: else fi

// Progress: messages finished, and those of them that were lost, in one word
#define PROGRESS(done, lost) ((done) * 16 + (lost))
#define DONE(progress) ((progress) / 16)
#define LOST(progress) ((progress) % 16)

mtype = { Free, Claimed, Ready, Active, Leaving };  // a slot
mtype = { Unborn, Alive, Gone, Killed };            // a process

// Kinds of messages. What ranks make of kinds that differ is the greatest.
#define NOTHING 0
#define VALUES 1
#define DROPPED 2
#define LAST 3
#define OVER 4

#define NONE 255

typedef Record { byte number; byte kind; byte at; byte size };
typedef Slot { byte holder; mtype state; byte begun; byte progress; bool sleeping };
typedef Channel {
  byte published;
  byte asleep;          // 1 + the slot on whose bell the simulation sleeps, or 0
  byte watched;         // the slot whose bell it has looked at
  bool closed, served;  // served: the primary slot's holder has finished for good
  bool evicted;         // nothing is kept for the attached job
  Slot slots[SLOTS];
  Record records[RECORDS];
  byte memory[UNITS]
};
Channel channel[CHANNELS];

#define record(l, i) channel[l].records[(i) % RECORDS]
#define primary(l) channel[l].slots[PRIMARY]
#define attached_job(l) channel[l].slots[VISITOR]
#define is_alive(p) (life[p] == Alive)

mtype life[PROCESSES];
bool seen[PROCESSES];    // the futex word is still as this process saw it
bool parked[PROCESSES];  // it sleeps in the kernel
byte struck;             // ends just now, which takes one step; nobody else moves meanwhile
#define MORTAL provided (struck == 0 || struck == me)

// What all sidecar jobs together have done, for the checks
byte given;     // messages that any sidecar job has begun with
byte giver;     // the sidecar job that began with the last of them
byte finished;  // messages that a sidecar job has finished, and the number after the last of them
byte finished_to;
bool served;    // a sidecar job has seen the end
bool worked[CHANNELS];

// ---- ranks of an MPI job agree on the maximum

#if CHANNELS > 1
chan inbox[PROCESSES] = [2] of { byte, byte };

#define say(a, b) inbox[PEER(me)] ! a, b

inline hear(a, b) {
  inbox[me] ? theirs, theirs_too;
  a = (theirs > a -> theirs : a);
  b = (theirs_too > b -> theirs_too : b);
  theirs = 0; theirs_too = 0
}
#endif

inline vanish() {
  struck = 0;
  life[me] = (life[me] == Killed -> Killed : Gone);
  parked[me] = false; seen[me] = false;
  WITH_CHANNELS(do :: len(inbox[me]) > 0 -> inbox[me] ? _, _ :: len(inbox[me]) == 0 -> break od)
}

// ---- futexes; with two channels, who sleeps just wakes when there is something, a
// message takes one unit, and a rank meets, publishes and parts in one step

#if CHANNELS == 1
inline sleep_on_word() {
#ifdef BROKEN_COMPARE
  parked[me] = true
#else
  parked[me] = seen[me]
#endif
}

inline change_call() {
  d_step { for (p : FIRST_READER .. PROCESSES - 1) { seen[p] = false } p = 0 }
}

inline wake_readers() {
  d_step { for (p : FIRST_READER .. PROCESSES - 1) { parked[p] = false } p = 0 }
}

// ChannelReader::ring. Each slot has a bell; what the simulation has seen is one of them.
inline ring(l, s) {
  d_step { seen[SIMULATION(l)] = seen[SIMULATION(l)] && channel[l].watched != s };
  d_step { parked[SIMULATION(l)] = parked[SIMULATION(l)] && channel[l].asleep != s + 1 }
}
#else
#define change_call() skip
#define wake_readers() skip
#define ring(l, s) skip
#endif

// ---- the simulation's end: Arena and ChannelWriter

// Arena::find, and ChannelWriter::fits: where `wanted` units go, or NONE
inline find(l, wanted) {
  front = NONE;
  for (i : freed .. channel[l].published - 1) {
    when(record(l, i).size > 0,
         front = (front == NONE -> record(l, i).at : front);
         back = record(l, i).at;
         last = back + record(l, i).size)
  }
  if
  :: front == NONE -> at = 0
  :: front != NONE && back < front -> at = (front - last >= wanted -> last : NONE)
  :: else ->
#ifdef BROKEN_WRAP
     at = (UNITS - last >= wanted -> last : 0)
#else
     at = (UNITS - last >= wanted -> last : (front >= wanted -> 0 : NONE))
#endif
  fi;
  at = (channel[l].published - freed >= VALUE_RECORDS -> NONE : at);
  front = 0; back = 0; last = 0; i = 0
}

inline free_before(l, needed) {
  do
  :: freed < needed ->
     for (i : record(l, freed).at .. record(l, freed).at + record(l, freed).size - 1) {
       channel[l].memory[i] = 0
     }
     record(l, freed).number = NONE; record(l, freed).kind = NOTHING;
     record(l, freed).at = 0; record(l, freed).size = 0;
     freed++; i = 0
  :: else -> break
  od;
  needed = 0
}

#define ATTACHED_JOB_DIED(l) (attached_job(l).holder != 0 && !is_alive(attached_job(l).holder))
#define DESERTED(l) (ATTACHED_JOB_DIED(l) || attached_job(l).holder != 0 && attached_job(l).state == Leaving)
#ifdef BROKEN_LINGER
#define IN_USE(l) (admitted_here && !evicted_here)
#else
#define IN_USE(l) (admitted_here && !evicted_here && attached_job(l).state != Leaving)
#endif
#ifdef BROKEN_DEATH
#define COUNTS(l) IN_USE(l)
#else
#define COUNTS(l) (IN_USE(l) && is_alive(attached_job(l).holder))
#endif

// One that was evicted and lives may be stopped, and write to its slot when it continues.
#ifdef BROKEN_KEEP
#define MAY_CLEAR(l) (DESERTED(l) || evicted_here)
#else
#define MAY_CLEAR(l) DESERTED(l)
#endif

// The holder goes last.
inline clear_deserted(l) {
  atomic {
    vacating = false; admitted_here = false; evicted_here = false; channel[l].evicted = false;
    attached_job(l).sleeping = false
  };
  attached_job(l).state = Free;
  attached_job(l).holder = 0
}

#if SIDECAR_JOBS == 0
#define NEED_OF_PRIMARY(l) channel[l].published
#elif defined(BROKEN_REUSE)
#define NEED_OF_PRIMARY(l) primary(l).begun
#elif defined(BROKEN_FORGET)
#define NEED_OF_PRIMARY(l) (is_alive(primary(l).holder) -> DONE(primary(l).progress) : channel[l].published)
#else
#define NEED_OF_PRIMARY(l) DONE(primary(l).progress)
#endif

inline reclaim(l) {
#if ATTACHED_JOBS > 0
  needed = NEED_OF_PRIMARY(l);
  when(vacating && MAY_CLEAR(l), clear_deserted(l));
  d_step {
    assert(attached_job(l).holder != 0 || attached_job(l).state != Active);
    when(COUNTS(l) && DONE(attached_job(l).progress) < needed, needed = DONE(attached_job(l).progress));
    free_before(l, needed)
  }
#else
  d_step { needed = NEED_OF_PRIMARY(l); free_before(l, needed) }
#endif
}

// ChannelWriter::evict, at any time that an attached job alone holds a message
inline may_evict(l) {
#if ATTACHED_JOBS > 0
  if
  :: COUNTS(l) && DONE(attached_job(l).progress) < NEED_OF_PRIMARY(l) ->
#ifdef BROKEN_TELL
     evicted_here = true;
     reclaim(l);
     channel[l].evicted = true;
#else
     channel[l].evicted = true;
     evicted_here = true;
     reclaim(l);
#endif
     change_call();
     wake_readers()
  :: true
  fi
#else
  skip
#endif
}

// Waking for want of patience alone is right only if somebody has died; it helps if it was an attached job.
#define PRIMARY_IS_LOST (SIDECAR_JOBS > 0 && !is_alive(primary(l).holder))
#define SOMEBODY_DIED (PRIMARY_IS_LOST WITH_ATTACHED_JOBS(|| ATTACHED_JOB_DIED(l)))

// ChannelWriter::slowest: the first slot without which nothing more is freed
#if ATTACHED_JOBS == 0 || defined(BROKEN_SLOWEST)
#define SLOWEST(l) PRIMARY
#elif SIDECAR_JOBS == 0
#define SLOWEST(l) (COUNTS(l) && DONE(attached_job(l).progress) <= freed -> VISITOR : PRIMARY)
#else
#define SLOWEST(l) (DONE(primary(l).progress) > freed && COUNTS(l) && DONE(attached_job(l).progress) <= freed -> VISITOR : PRIMARY)
#endif
#if defined(BROKEN_SLOWER) || SIDECAR_JOBS == 0 && ATTACHED_JOBS == 0
#define HOLDS_BACK(l) true
#else
#define HOLDS_BACK(l) (DONE(channel[l].slots[channel[l].watched].progress) <= freed)
#endif

// ChannelWriter::wait, and the look that follows
inline wait_for_readers(l) {
#if CHANNELS > 1
  if
  :: freed < NEED_OF_PRIMARY(l)
  :: timeout -> assert(PRIMARY_IS_LOST)
  fi;
  reclaim(l)
#else
  channel[l].watched = SLOWEST(l);
  channel[l].asleep = 1 + channel[l].watched;
  d_step { seen[me] = true; before = freed };
  reclaim(l);
  if
  :: freed == before && HOLDS_BACK(l) -> sleep_on_word()
  :: else
  fi;
  if
  :: atomic { !parked[me] -> seen[me] = false; channel[l].asleep = 0; channel[l].watched = 0 }
  :: timeout ->
     assert(SOMEBODY_DIED);
     atomic {
       impatient = true; parked[me] = false; seen[me] = false;
       channel[l].asleep = 0; channel[l].watched = 0
     }
  fi;
  reclaim(l);
  d_step {
    assert(!impatient || freed > before || PRIMARY_IS_LOST);
    before = 0; impatient = false
  }
#endif
}

inline write_message(l, what) {
  assert(channel[l].published - freed < RECORDS);
  record(l, channel[l].published).number = channel[l].published;
  record(l, channel[l].published).kind = what;
  when(what == VALUES,
       record(l, channel[l].published).at = at;
       record(l, channel[l].published).size = size;
       for (i : at .. at + size - 1) { channel[l].memory[i] = channel[l].published + 1 }
       i = 0)
}

#define SOMEBODY_SLEEPS(l) (primary(l).sleeping WITH_ATTACHED_JOBS(|| attached_job(l).sleeping))

inline publish(l, what) {
#ifdef BROKEN_PUBLISH
  channel[l].published++;
  d_step { channel[l].published--; write_message(l, what); channel[l].published++ };
#else
  d_step { write_message(l, what) };
#ifdef BROKEN_FENCE
  sleeper = SOMEBODY_SLEEPS(l);
#endif
  channel[l].published++;
#endif
#if CHANNELS == 1
  change_call();
#ifndef BROKEN_FENCE
  sleeper = SOMEBODY_SLEEPS(l);
#endif
  atomic { when(sleeper, wake_readers(); sleeper = false) }
#endif
}

inline close(l) {
  channel[l].closed = true;
  change_call();
  wake_readers()
}

inline activate(l) {
  attached_job(l).begun = channel[l].published;
  attached_job(l).progress = PROGRESS(channel[l].published, 0);
  admitted_here = true;
#ifdef BROKEN_ACTIVATE
  attached_job(l).state = Active
#else
  d_step { attached_job(l).state = (attached_job(l).state == Ready -> Active : attached_job(l).state) }
#endif
}

// Simulation::meet and part: a rank acts on what all said when they last met, and says how it
// stands now.
#define FULL_NEWS 1
#define BLOCKED_NEWS 2
#define DESERTED_NEWS 4
#define READY_NEWS 8

inline meet(l) {
#if CHANNELS > 1
  if
  :: met -> atomic { inbox[me] ? theirs, _; news = news | theirs; theirs = 0 }
  :: !met
  fi;
#endif
  reclaim(l);
#if ATTACHED_JOBS > 0
  if
  :: atomic { news & DESERTED_NEWS -> vacating = true; admitted = false }
  :: atomic { news & READY_NEWS -> assert(!admitted); admitted = true };
     activate(l)
  :: else
  fi
#endif
}

#define KEPT 1  // records that stay for the end

inline part(l) {
  reclaim(l);
  d_step {
    find(l, size);
    stalled = stalled && at == NONE;
    news = (at == NONE -> FULL_NEWS : 0) |
           (stalled || channel[l].published - freed + KEPT >= RECORDS -> BLOCKED_NEWS : 0);
    WITH_ATTACHED_JOBS(when(!admitted_here && attached_job(l).state == Ready, news = news | READY_NEWS);)
    WITH_ATTACHED_JOBS(when(DESERTED(l) || evicted_here && !vacating, news = news & 7 | DESERTED_NEWS);)
    at = 0; size = 0;
    WITH_CHANNELS(met = true)
  }
  WITH_CHANNELS(; inbox[PEER(me)] ! news, 0)
}

proctype Simulation(byte l) MORTAL {
  byte freed, offer, size = 1, at, needed, before, i, p, front, back, last, news;
  bool stalled, sleeper, impatient;
  WITH_ATTACHED_JOBS(bool admitted; bool vacating; bool admitted_here; bool evicted_here;)
  WITH_CHANNELS(byte theirs; bool met;)
  {
    do
    :: atomic { offer == OFFERS -> break }
    :: WITH_CHANNELS(atomic) { offer < OFFERS -> offer++;
       meet(l);
       WITH_ATTACHED_JOBS(may_evict(l);)
       atomic {
         if
         :: size = 1
#if CHANNELS == 1
         :: size = 2
#endif
         fi;
         if
         :: news & BLOCKED_NEWS || (news & FULL_NEWS && !WAIT) -> goto parting
         :: else -> find(l, size)
         fi
       };
#if WAIT
       // Simulation::await_room; the deadline may pass at any time.
       do
       :: atomic { at != NONE -> break }
       :: atomic { at == NONE -> stalled = true; break }
       :: at == NONE -> wait_for_readers(l); WITH_ATTACHED_JOBS(may_evict(l);) d_step { find(l, size) }
       od;
#endif
       if
       :: at != NONE -> publish(l, VALUES)
       :: else -> publish(l, DROPPED)
       fi;
parting:
       part(l) }
    od;
    // Simulation::close
    WITH_CHANNELS(atomic) {
      meet(l);
      publish(l, LAST)
    };
    close(l);
#if SIDECAR_JOBS > 0 && ATTACHED_JOBS == 0
    do
    :: atomic { DONE(primary(l).progress) == channel[l].published -> break }
    :: true -> break  // the deadline has passed
    :: DONE(primary(l).progress) < channel[l].published -> wait_for_readers(l)
    od;
#endif
    struck = me
  } unless { struck == me };
  d_step {
    vanish();
    freed = 0; offer = 0; size = 0; at = 0; needed = 0; before = 0; i = 0; p = 0;
    front = 0; back = 0; last = 0; news = 0; stalled = false; sleeper = false; impatient = false
    WITH_ATTACHED_JOBS(; admitted = false; vacating = false; admitted_here = false; evicted_here = false)
    WITH_CHANNELS(; theirs = 0; met = false)
  }
}

// ---- a sidecar's end: ChannelReader, and SidecarJob above it

#define ENDED(l) (channel[l].closed || !is_alive(SIMULATION(l)))

inline sleep_until_called(l, s) {
#if CHANNELS > 1
  channel[l].published > index || ENDED(l)
#else
  channel[l].slots[s].sleeping = true;
  seen[me] = true;
#ifdef BROKEN_RECHECK
  sleep_on_word();
#else
  if
  :: channel[l].published <= index && !channel[l].closed -> sleep_on_word()
  :: else
  fi;
#endif
  atomic {
    !parked[me] || !is_alive(SIMULATION(l)) ->
    parked[me] = false; seen[me] = false;
    channel[l].slots[s].sleeping = false
  }
#endif
}

// ChannelReader::wait, again and again until there is something to say
inline wait_for_message(l, s) {
  do
  WITH_ATTACHED_JOBS(:: atomic { s == VISITOR && channel[l].evicted -> outcome = OVER; break })
  :: atomic { channel[l].published > index -> outcome = record(l, index).kind; break }
  :: else ->
     sleep_until_called(l, s);
     over = ENDED(l);
#ifdef BROKEN_END
     atomic { when(over, outcome = OVER; over = false; break) }
#else
     atomic { when(over && channel[l].published <= index, outcome = OVER; over = false; break) }
#endif
  od
}

inline check_message(l) {
  assert(record(l, index).number == index);
  for (i : record(l, index).at .. record(l, index).at + record(l, index).size - 1) {
    assert(channel[l].memory[i] == index + 1)
  }
  i = 0
}

// ChannelReader::finish. The message was read all the time until now, and still is what it was.
inline finish(l, s) {
#ifdef BROKEN_DONE
  channel[l].slots[s].progress = PROGRESS(index + 1, LOST(channel[l].slots[s].progress));
#endif
  d_step {
    when(s == PRIMARY || !channel[l].evicted, check_message(l));
    when(s == PRIMARY,
         assert(worked[0] && worked[CHANNELS - 1]);
         finished = finished + (index >= finished_to);
         finished_to = index + 1);
    channel[l].slots[s].progress = PROGRESS(index + 1, LOST(channel[l].slots[s].progress))
  };
  ring(l, s)
}

#ifdef BROKEN_CLAIM
#define LEFT_TO_ME true
#else
#define LEFT_TO_ME !is_alive(primary(l).holder)
#endif
#define MY_TURN (sidecar_job == 0 || life[SIDECAR(sidecar_job - 1, 0)] != Unborn)
#define FIRST_HAS_COME (l == 0 || primary(0).holder == SIDECAR(sidecar_job, 0))

proctype Sidecar(byte sidecar_job; byte l) MORTAL {
  byte index, progress, old, i, outcome;
  bool over;
  WITH_CHANNELS(byte theirs; byte theirs_too;)
  // SidecarJob::take_primary_slot. Sidecar jobs are alike, so they come in order, when the slot seems
  // to be free; one that would find a living holder has no part in anything. The first channel of the
  // run goes first.
end:
  atomic {
    MY_TURN && FIRST_HAS_COME && LEFT_TO_ME ->
    life[me] = Alive;
    WITH_CHANNELS(primary(l).holder = me;)  // sidecar jobs that come at once are tried with one channel
    old = primary(l).holder
  };
  {
    do
    :: atomic {
         if
#ifdef BROKEN_SWAP
         :: true -> primary(l).holder = me; old = 0; break
#endif
         :: primary(l).holder == old -> primary(l).holder = me; old = 0; break
         :: else -> old = 0
         fi
       };
end_refused:
       atomic { LEFT_TO_ME -> old = primary(l).holder }
    od;
    atomic {
      primary(l).sleeping = false;
#ifdef BROKEN_OVER
      over = !(ENDED(l) && DONE(primary(l).progress) >= channel[l].published);
#else
      over = channel[l].served;
#endif
      WITH_CHANNELS(say(over, 0); hear(over, old);)
#ifdef BROKEN_OVER
      over = !over;
#endif
      when(over, goto leave);
      assert(!served);
      // SidecarJob::continue_predecessor
      index = primary(l).begun; progress = primary(l).progress;
      WITH_CHANNELS(say(index, progress); hear(index, progress);)
#ifdef BROKEN_START
      index = DONE(progress);
#endif
      index = (DONE(progress) > index -> DONE(progress) : index);
      progress = PROGRESS(index, LOST(progress) + index - DONE(progress));
      primary(l).begun = index
    };
#ifdef BROKEN_LOST
    primary(l).progress = PROGRESS(DONE(primary(l).progress), LOST(progress));
#endif
    d_step {
      primary(l).progress = progress;
      assert(LOST(progress) == index - finished);
      progress = 0
    };
#ifndef BROKEN_RING
    ring(l, PRIMARY);
#endif
    do
    :: WITH_CHANNELS(atomic) { true -> wait_for_message(l, PRIMARY) };
       WITH_CHANNELS(say(outcome, 0);)
       atomic {
         WITH_CHANNELS(hear(outcome, old);)
         when(outcome == OVER, break);
         primary(l).begun = index + 1;
         assert(index == given || index + 1 == given && giver == sidecar_job && CHANNELS > 1);
         given = index + 1; giver = sidecar_job; worked[l] = false
       };
       atomic { check_message(l); worked[l] = true };
#ifndef BROKEN_ALONE
       WITH_CHANNELS(say(0, 0);)
#endif
       WITH_CHANNELS(atomic) {
#ifndef BROKEN_ALONE
         WITH_CHANNELS(hear(old, old);)
#endif
         atomic { when(outcome == LAST, channel[l].served = true) };
         finish(l, PRIMARY);
         atomic {
           index++;
           if
           :: outcome == LAST -> break
           :: else -> outcome = NOTHING
           fi
         }
       }
    od;
    // All that all channels have was dealt with.
    atomic {
      assert(index == given && (index == channel[0].published || index == channel[CHANNELS - 1].published));
      assert(primary(l).progress == PROGRESS(index, index - finished));
      channel[l].served = true; served = true
    };
leave:
    atomic { when(primary(l).holder == me, primary(l).holder = 0) };
    ring(l, PRIMARY);
    struck = me
  } unless { struck == me };
  d_step {
    vanish();
    index = 0; progress = 0; old = 0; i = 0; outcome = 0; over = false
    WITH_CHANNELS(; theirs = 0; theirs_too = 0)
  }
}

#if ATTACHED_JOBS > 0
proctype AttachedJob(byte number; byte l) MORTAL {
  byte index, i, outcome, from, length;
  bool over, refused, whole;
  // SidecarJob::take_attached_slot
end:
  atomic { number == 0 || life[ATTACHED_JOB(number - 1)] != Unborn -> life[me] = Alive };
  {
    if
    :: attached_job(l).holder != 0 -> goto leave
    :: else
    fi;
    atomic {
      if
      :: attached_job(l).holder == 0 -> attached_job(l).holder = me
      :: else -> refused = true
      fi
    };
    if
    :: refused -> goto leave
    :: else
    fi;
    attached_job(l).sleeping = false;
    attached_job(l).state = Claimed;
    attached_job(l).state = Ready;
    if
    :: attached_job(l).state != Ready || ENDED(l)
    :: true  // gives up
    fi;
    atomic { when(attached_job(l).state != Active, goto leave) };
    index = attached_job(l).begun;
    d_step { attached_job(l).begun = index; attached_job(l).progress = PROGRESS(index, 0) };
    ring(l, VISITOR);
    do
    :: true -> break  // wants no more
    :: true ->
       wait_for_message(l, VISITOR);
       atomic { when(outcome == OVER, assert(index == channel[l].published || channel[l].evicted); break) };
       attached_job(l).begun = index + 1;
       // CopyingReceiver::copy: the record, what it points to, and then the look whether that counts
       d_step {
         whole = record(l, index).number == index;
         from = record(l, index).at; length = record(l, index).size
       };
       atomic {
         for (i : from .. from + length - 1) { whole = whole && channel[l].memory[i] == index + 1 }
         from = 0; length = 0; i = 0
       };
#ifndef BROKEN_LOOK
       atomic { when(channel[l].evicted, whole = false; break) };
#endif
       atomic { assert(whole); whole = false };
       finish(l, VISITOR);
       atomic {
         index++;
         if
         :: outcome == LAST -> break
         :: else -> outcome = NOTHING
         fi
       }
    od;
leave:
    // ChannelReader::leave
#ifdef BROKEN_LEAVE
    refused = false;
#else
    refused = attached_job(l).holder != me;
#endif
    if
    :: !refused ->
       attached_job(l).sleeping = false;
       attached_job(l).state = Leaving;
       ring(l, VISITOR)
    :: else
    fi;
    // It may live on.
    atomic {
      index = 0; outcome = 0; refused = false;
      if
      :: struck = me
      :: true
      fi
    };
end_lingering:
    false
  } unless { struck == me };
  d_step {
    vanish();
    index = 0; i = 0; outcome = 0; over = false; refused = false; from = 0; length = 0; whole = false
  }
}
#endif

// ---- who is killed

byte simulation_deaths, primary_deaths, attached_job_deaths;

#define KILL(p, deaths) \
  :: d_step { deaths > 0 && life[p] == Alive -> deaths--; life[p] = Killed; struck = p }
// The other rank of an MPI job is killed a little later.
#define FOLLOW(p, q) \
  :: d_step { life[p] == Alive && life[q] == Killed -> life[p] = Killed; struck = p }
#define KILL_JOB(p, deaths) \
  KILL(p, deaths) WITH_CHANNELS(KILL((p) + 1, deaths) FOLLOW(p, (p) + 1) FOLLOW((p) + 1, p))

proctype Fate() provided (struck == 0) {
end:
  do
  KILL_JOB(SIMULATION(0), simulation_deaths)
#if SIDECAR_JOBS > 0
  KILL_JOB(SIDECAR(0, 0), primary_deaths)
#endif
#if SIDECAR_JOBS > 1
  KILL_JOB(SIDECAR(1, 0), primary_deaths)
#endif
#if SIDECAR_JOBS > 2
  KILL_JOB(SIDECAR(2, 0), primary_deaths)
#endif
#if ATTACHED_JOBS > 0
  KILL(ATTACHED_JOB(0), attached_job_deaths)
#endif
#if ATTACHED_JOBS > 1
  KILL(ATTACHED_JOB(1), attached_job_deaths)
#endif
  od
}

// How many are killed is chosen first, so that a rank that waits for ever is not taken for one that
// is still to be killed.
init {
  byte l, n;
  atomic {
    for (n : 0 .. PROCESSES - 1) { life[n] = Unborn }
    for (l : 0 .. CHANNELS - 1) {
      for (n : 0 .. RECORDS - 1) { channel[l].records[n].number = NONE }
      WITH_ATTACHED_JOBS(attached_job(l).state = Free;)
      life[SIMULATION(l)] = Alive;
      run Simulation(l)
    }
#if SIDECAR_JOBS > 0
    for (n : 0 .. SIDECAR_JOBS - 1) {
      for (l : 0 .. CHANNELS - 1) { run Sidecar(n, l) }
    }
#endif
#if ATTACHED_JOBS > 0
    for (n : 0 .. ATTACHED_JOBS - 1) { run AttachedJob(n, 0) }
#endif
    select (n : 0 .. SIMULATION_DEATHS); simulation_deaths = n;
    select (n : 0 .. PRIMARY_DEATHS); primary_deaths = n;
    select (n : 0 .. ATTACHED_JOB_DEATHS); attached_job_deaths = n;
    l = 0; n = 0;
    run Fate()
  }
}
