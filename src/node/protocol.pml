// SPDX-License-Identifier: BSD-3-Clause
/* The lanes of a node, as lane.cpp, arena.cpp and, for what is agreed above them,
   transport/node.cpp, sidecar/sidecar_job.cpp, simulation/publisher.cpp and subscribers.cpp have them: simulation ranks
   that publish, one crew of sidecars after another in the home seat, and guests that come and go in
   a seat of their own. Any process may be killed between any two steps; tests/model has all orders
   of steps searched.

   Checked: what is read is what was published and stays so until it is finished (nothing is lost,
   doubled or overwritten in use); messages that died with a crew are counted once, and none is
   offered twice; crews never share the home seat; nobody waits for ever, and a time-out is needed
   only where somebody has died. BROKEN_... takes one precaution away; each must be found out.

   Left out: analyses, heads and spill (other arenas of the same kind), checkpoints, guests that are
   turned away, a home crew that leaves in mid-run (a death between two messages), dozing (looks
   that only come later), and weak memory (the words are sequentially consistent). A guest that
   waits to be admitted looks now and then. A death is seen at once by who looks; a process that is
   stopped is one that is slow. Freed memory is wiped, so that who still reads it is found out. */

#ifndef LANES
#define LANES 1  // simulation ranks, and ranks of each crew
#endif
#ifndef CREWS
#define CREWS 2
#endif
#ifndef GUESTS
#define GUESTS 0  // with one lane only
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
#ifndef HOME_DEATHS
#define HOME_DEATHS 2
#endif
#ifndef GUEST_DEATHS
#define GUEST_DEATHS GUESTS
#endif
#define UNITS 3    // memory for values; a message takes one or two
#define RECORDS 4
#define VALUE_RECORDS 2  // that messages with values may fill

#define SIMULATION(l) (1 + (l))
#define SIDECAR(c, l) (1 + LANES + (c) * LANES + (l))
#define GUEST(g) SIDECAR(CREWS, g)
#define PROCESSES GUEST(GUESTS)
#define FIRST_READER SIDECAR(0, 0)
#define PEER(p) (l == 0 -> (p) + 1 : (p) - 1)
#define me _pid

#define HOME 0
#define VISITOR 1
#if GUESTS > 0
#define SEATS 2
#define WITH_GUESTS(...) __VA_ARGS__
#else
#define SEATS 1
#define WITH_GUESTS(...)
#endif
#if LANES > 1
#define WITH_LANES(...) __VA_ARGS__
#else
#define WITH_LANES(...)
#endif
#define when(condition, ...) if :: condition -> __VA_ARGS__ :: else fi

// Progress: messages finished, and those of them that were lost, in one word
#define PROGRESS(done, lost) ((done) * 16 + (lost))
#define DONE(progress) ((progress) / 16)
#define LOST(progress) ((progress) % 16)

mtype = { Free, Claimed, Ready, Active, Leaving };  // a seat
mtype = { Unborn, Alive, Gone, Killed };            // a process

// Kinds of messages. What ranks make of kinds that differ is the greatest.
#define NOTHING 0
#define VALUES 1
#define DROPPED 2
#define LAST 3
#define OVER 4

#define NONE 255

typedef Record { byte number; byte kind; byte at; byte size };
typedef Seat { byte holder; mtype state; byte begun; byte progress };
typedef Lane {
  byte published, sleepers, guests;
  bool closed, asleep, served;  // served: the home seat's holder has finished for good
  Seat seats[SEATS];
  Record records[RECORDS];
  byte memory[UNITS]
};
Lane lane[LANES];

#define BIT(s) (1 << (s))
#define record(l, i) lane[l].records[(i) % RECORDS]
#define home(l) lane[l].seats[HOME]
#define guest(l) lane[l].seats[VISITOR]
#define is_alive(p) (life[p] == Alive)

mtype life[PROCESSES];
bool seen[PROCESSES];    // the futex word is still as this process saw it
bool parked[PROCESSES];  // it sleeps in the kernel
byte struck;             // ends just now, which takes one step; nobody else moves meanwhile
#define MORTAL provided (struck == 0 || struck == me)

// What all crews together have done, for the checks
byte given;     // messages that any crew has begun with
byte giver;     // the crew that began with the last of them
byte finished;  // messages that a crew has finished, and the number after the last of them
byte finished_to;
bool served;    // a crew has seen the end
bool worked[LANES];

// ---- ranks of an MPI job agree on the maximum

#if LANES > 1
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
  WITH_LANES(do :: len(inbox[me]) > 0 -> inbox[me] ? _, _ :: len(inbox[me]) == 0 -> break od)
}

// ---- futexes; with two lanes, who sleeps just wakes when there is something, a
// message takes one unit, and a rank meets, publishes and parts in one step

#if LANES == 1
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

// LaneReader::ring
inline ring(l) {
  seen[SIMULATION(l)] = false;
  d_step { parked[SIMULATION(l)] = parked[SIMULATION(l)] && !lane[l].asleep }
}
#else
#define change_call() skip
#define wake_readers() skip
#define ring(l) skip
#endif

// ---- the simulation's end: Arena and LaneWriter

// Arena::find, and LaneWriter::fits: where `wanted` units go, or NONE
inline find(l, wanted) {
  front = NONE;
  for (i : freed .. lane[l].published - 1) {
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
  at = (lane[l].published - freed >= VALUE_RECORDS -> NONE : at);
  front = 0; back = 0; last = 0; i = 0
}

inline free_before(l, needed) {
  do
  :: freed < needed ->
     for (i : record(l, freed).at .. record(l, freed).at + record(l, freed).size - 1) {
       lane[l].memory[i] = 0
     }
     record(l, freed).number = NONE; record(l, freed).kind = NOTHING;
     record(l, freed).at = 0; record(l, freed).size = 0;
     freed++; i = 0
  :: else -> break
  od;
  needed = 0
}

#define GUEST_DIED(l) (guest(l).holder != 0 && !is_alive(guest(l).holder))
#define DESERTED(l) (GUEST_DIED(l) || guest(l).holder != 0 && guest(l).state == Leaving)
#ifdef BROKEN_LINGER
#define IN_USE(l) (guest(l).state == Active || guest(l).state == Leaving)
#else
#define IN_USE(l) (guest(l).state == Active)
#endif
#ifdef BROKEN_DEATH
#define COUNTS(l) (lane[l].guests > 0 && IN_USE(l))
#else
#define COUNTS(l) (lane[l].guests > 0 && IN_USE(l) && is_alive(guest(l).holder))
#endif

// The holder goes last.
inline clear_deserted(l) {
  atomic {
    vacating = false;
    lane[l].sleepers = lane[l].sleepers & BIT(HOME)
  };
  guest(l).state = Free;
  guest(l).holder = 0;
  lane[l].guests--
}

#if CREWS == 0
#define NEED_OF_HOME(l) lane[l].published
#elif defined(BROKEN_REUSE)
#define NEED_OF_HOME(l) home(l).begun
#elif defined(BROKEN_FORGET)
#define NEED_OF_HOME(l) (is_alive(home(l).holder) -> DONE(home(l).progress) : lane[l].published)
#else
#define NEED_OF_HOME(l) DONE(home(l).progress)
#endif

inline reclaim(l) {
#if GUESTS > 0
  needed = NEED_OF_HOME(l);
  when(vacating && lane[l].guests > 0 && DESERTED(l), clear_deserted(l));
  d_step {
    assert(lane[l].guests > 0 || guest(l).state != Active);
    when(COUNTS(l) && DONE(guest(l).progress) < needed, needed = DONE(guest(l).progress));
    free_before(l, needed)
  }
#else
  d_step { needed = NEED_OF_HOME(l); free_before(l, needed) }
#endif
}

// Waking for want of patience alone is right only if somebody has died; it helps if it was a guest.
#define HOME_IS_LOST (CREWS > 0 && !is_alive(home(l).holder))
#define SOMEBODY_DIED (HOME_IS_LOST WITH_GUESTS(|| GUEST_DIED(l)))

// LaneWriter::wait, and the look that follows
inline wait_for_readers(l) {
#if LANES > 1
  if
  :: freed < NEED_OF_HOME(l)
  :: timeout -> assert(HOME_IS_LOST)
  fi;
  reclaim(l)
#else
  lane[l].asleep = true;
  d_step { seen[me] = true; before = freed };
  reclaim(l);
  atomic { when(freed == before, sleep_on_word()) };
  if
  :: atomic { !parked[me] -> seen[me] = false; lane[l].asleep = false }
  :: timeout ->
     assert(SOMEBODY_DIED);
     atomic { impatient = true; parked[me] = false; seen[me] = false; lane[l].asleep = false }
  fi;
  reclaim(l);
  d_step {
    assert(!impatient || freed > before || HOME_IS_LOST);
    before = 0; impatient = false
  }
#endif
}

inline write_message(l, what) {
  assert(lane[l].published - freed < RECORDS);
  record(l, lane[l].published).number = lane[l].published;
  record(l, lane[l].published).kind = what;
  when(what == VALUES,
       record(l, lane[l].published).at = at;
       record(l, lane[l].published).size = size;
       for (i : at .. at + size - 1) { lane[l].memory[i] = lane[l].published + 1 }
       i = 0)
}

inline publish(l, what) {
#ifdef BROKEN_PUBLISH
  lane[l].published++;
  d_step { lane[l].published--; write_message(l, what); lane[l].published++ };
#else
  d_step { write_message(l, what) };
#ifdef BROKEN_FENCE
  sleeper = lane[l].sleepers != 0;
#endif
  lane[l].published++;
#endif
#if LANES == 1
  change_call();
#ifndef BROKEN_FENCE
  sleeper = lane[l].sleepers != 0;
#endif
  atomic { when(sleeper, wake_readers(); sleeper = false) }
#endif
}

inline close(l) {
  lane[l].closed = true;
  change_call();
  wake_readers()
}

inline activate(l) {
  guest(l).begun = lane[l].published;
  guest(l).progress = PROGRESS(lane[l].published, 0);
#ifdef BROKEN_ACTIVATE
  guest(l).state = Active
#else
  d_step { guest(l).state = (guest(l).state == Ready -> Active : guest(l).state) }
#endif
}

// SimulationSide::meet and part: a rank acts on what all said when they last met, and says how it
// stands now.
#define FULL_NEWS 1
#define BLOCKED_NEWS 2
#define DESERTED_NEWS 4
#define READY_NEWS 8

inline meet(l) {
#if LANES > 1
  if
  :: met -> atomic { inbox[me] ? theirs, _; news = news | theirs; theirs = 0 }
  :: !met
  fi;
#endif
  reclaim(l);
#if GUESTS > 0
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
           (stalled || lane[l].published - freed + KEPT >= RECORDS -> BLOCKED_NEWS : 0);
    WITH_GUESTS(when(lane[l].guests > 0 && guest(l).state == Ready, news = news | READY_NEWS);)
    WITH_GUESTS(when(lane[l].guests > 0 && DESERTED(l), news = news & 7 | DESERTED_NEWS);)
    at = 0; size = 0;
    WITH_LANES(met = true)
  }
  WITH_LANES(; inbox[PEER(me)] ! news, 0)
}

proctype Simulation(byte l) MORTAL {
  byte freed, offer, size = 1, at, needed, before, i, p, front, back, last, news;
  bool stalled, sleeper, impatient;
  WITH_GUESTS(bool admitted; bool vacating;)
  WITH_LANES(byte theirs; bool met;)
  {
    do
    :: atomic { offer == OFFERS -> break }
    :: WITH_LANES(atomic) { offer < OFFERS -> offer++;
       meet(l);
       atomic {
         if
         :: size = 1
#if LANES == 1
         :: size = 2
#endif
         fi;
         if
         :: news & BLOCKED_NEWS || (news & FULL_NEWS && !WAIT) -> goto parting
         :: else -> find(l, size)
         fi
       };
#if WAIT
       // SimulationSide::await_room; the deadline may pass at any time.
       do
       :: atomic { at != NONE -> break }
       :: atomic { at == NONE -> stalled = true; break }
       :: at == NONE -> wait_for_readers(l); d_step { find(l, size) }
       od;
#endif
       if
       :: at != NONE -> publish(l, VALUES)
       :: else -> publish(l, DROPPED)
       fi;
parting:
       part(l) }
    od;
    // SimulationSide::close
    WITH_LANES(atomic) {
      meet(l);
      publish(l, LAST)
    };
    close(l);
#if CREWS > 0 && GUESTS == 0
    do
    :: atomic { DONE(home(l).progress) == lane[l].published -> break }
    :: true -> break  // the deadline has passed
    :: DONE(home(l).progress) < lane[l].published -> wait_for_readers(l)
    od;
#endif
    struck = me
  } unless { struck == me };
  d_step {
    vanish();
    freed = 0; offer = 0; size = 0; at = 0; needed = 0; before = 0; i = 0; p = 0;
    front = 0; back = 0; last = 0; news = 0; stalled = false; sleeper = false; impatient = false
    WITH_GUESTS(; admitted = false; vacating = false)
    WITH_LANES(; theirs = 0; met = false)
  }
}

// ---- a sidecar's end: LaneReader, and Crew above it

#define ENDED(l) (lane[l].closed || !is_alive(SIMULATION(l)))

inline sleep_until_called(l, s) {
#if LANES > 1
  lane[l].published > index || ENDED(l)
#else
  lane[l].sleepers = lane[l].sleepers | BIT(s);
  seen[me] = true;
#ifdef BROKEN_RECHECK
  sleep_on_word();
#else
  if
  :: lane[l].published <= index && !lane[l].closed -> sleep_on_word()
  :: else
  fi;
#endif
  atomic {
    !parked[me] || !is_alive(SIMULATION(l)) ->
    parked[me] = false; seen[me] = false;
    lane[l].sleepers = lane[l].sleepers & (255 - BIT(s))
  }
#endif
}

// LaneReader::wait, again and again until there is something to say
inline wait_for_message(l, s) {
  do
  :: atomic { lane[l].published > index -> outcome = record(l, index).kind; break }
  :: else ->
     sleep_until_called(l, s);
     over = ENDED(l);
#ifdef BROKEN_END
     atomic { when(over, outcome = OVER; over = false; break) }
#else
     atomic { when(over && lane[l].published <= index, outcome = OVER; over = false; break) }
#endif
  od
}

inline check_message(l) {
  assert(record(l, index).number == index);
  for (i : record(l, index).at .. record(l, index).at + record(l, index).size - 1) {
    assert(lane[l].memory[i] == index + 1)
  }
  i = 0
}

// LaneReader::finish. The message was read all the time until now, and still is what it was.
inline finish(l, s) {
#ifdef BROKEN_DONE
  lane[l].seats[s].progress = PROGRESS(index + 1, LOST(lane[l].seats[s].progress));
#endif
  d_step {
    check_message(l);
    when(s == HOME,
         assert(worked[0] && worked[LANES - 1]);
         finished = finished + (index >= finished_to);
         finished_to = index + 1);
    lane[l].seats[s].progress = PROGRESS(index + 1, LOST(lane[l].seats[s].progress))
  };
  ring(l)
}

#ifdef BROKEN_CLAIM
#define LEFT_TO_ME true
#else
#define LEFT_TO_ME !is_alive(home(l).holder)
#endif
#define MY_TURN (crew == 0 || life[SIDECAR(crew - 1, 0)] != Unborn)
#define FIRST_HAS_COME (l == 0 || home(0).holder == SIDECAR(crew, 0))

proctype Sidecar(byte crew; byte l) MORTAL {
  byte index, progress, old, i, outcome;
  bool over;
  WITH_LANES(byte theirs; byte theirs_too;)
  // Crew::take_home. Crews are alike, so they come in order, when the seat seems to be free; one
  // that would find a living holder has no part in anything. The first lane of the run goes first.
end:
  atomic {
    MY_TURN && FIRST_HAS_COME && LEFT_TO_ME ->
    life[me] = Alive;
    WITH_LANES(home(l).holder = me;)  // crews that come at once are tried with one lane
    old = home(l).holder
  };
  {
    do
    :: atomic {
         if
#ifdef BROKEN_SWAP
         :: true -> home(l).holder = me; old = 0; break
#endif
         :: home(l).holder == old -> home(l).holder = me; old = 0; break
         :: else -> old = 0
         fi
       };
end_refused:
       atomic { LEFT_TO_ME -> old = home(l).holder }
    od;
    atomic {
      lane[l].sleepers = lane[l].sleepers & (255 - BIT(HOME));
#ifdef BROKEN_OVER
      over = !(ENDED(l) && DONE(home(l).progress) >= lane[l].published);
#else
      over = lane[l].served;
#endif
      WITH_LANES(say(over, 0); hear(over, old);)
#ifdef BROKEN_OVER
      over = !over;
#endif
      when(over, goto leave);
      assert(!served);
      // Crew::take_over
      index = home(l).begun; progress = home(l).progress;
      WITH_LANES(say(index, progress); hear(index, progress);)
#ifdef BROKEN_START
      index = DONE(progress);
#endif
      index = (DONE(progress) > index -> DONE(progress) : index);
      progress = PROGRESS(index, LOST(progress) + index - DONE(progress));
      home(l).begun = index
    };
#ifdef BROKEN_LOST
    home(l).progress = PROGRESS(DONE(home(l).progress), LOST(progress));
#endif
    d_step {
      home(l).progress = progress;
      assert(LOST(progress) == index - finished);
      progress = 0
    };
#ifndef BROKEN_RING
    ring(l);
#endif
    do
    :: WITH_LANES(atomic) { true -> wait_for_message(l, HOME) };
       WITH_LANES(say(outcome, 0);)
       atomic {
         WITH_LANES(hear(outcome, old);)
         when(outcome == OVER, break);
         home(l).begun = index + 1;
         assert(index == given || index + 1 == given && giver == crew && LANES > 1);
         given = index + 1; giver = crew; worked[l] = false
       };
       atomic { check_message(l); worked[l] = true };
#ifndef BROKEN_ALONE
       WITH_LANES(say(0, 0);)
#endif
       WITH_LANES(atomic) {
#ifndef BROKEN_ALONE
         WITH_LANES(hear(old, old);)
#endif
         atomic { when(outcome == LAST, lane[l].served = true) };
         finish(l, HOME);
         atomic {
           index++;
           if
           :: outcome == LAST -> break
           :: else -> outcome = NOTHING
           fi
         }
       }
    od;
    // All that all lanes have was dealt with.
    atomic {
      assert(index == given && (index == lane[0].published || index == lane[LANES - 1].published));
      assert(home(l).progress == PROGRESS(index, index - finished));
      lane[l].served = true; served = true
    };
leave:
    atomic { when(home(l).holder == me, home(l).holder = 0) };
    ring(l);
    struck = me
  } unless { struck == me };
  d_step {
    vanish();
    index = 0; progress = 0; old = 0; i = 0; outcome = 0; over = false
    WITH_LANES(; theirs = 0; theirs_too = 0)
  }
}

#if GUESTS > 0
proctype Guest(byte number; byte l) MORTAL {
  byte index, i, outcome;
  bool over, refused;
  // Crew::take_guest_seat
end:
  atomic { number == 0 || life[GUEST(number - 1)] != Unborn -> life[me] = Alive };
  {
    if
    :: guest(l).holder != 0 -> goto leave
    :: else -> lane[l].guests++
    fi;
    atomic {
      if
      :: guest(l).holder == 0 -> guest(l).holder = me
      :: else -> refused = true
      fi
    };
    if
    :: refused -> lane[l].guests--; goto leave
    :: else
    fi;
    lane[l].sleepers = lane[l].sleepers & BIT(HOME);
    guest(l).state = Claimed;
    guest(l).state = Ready;
    if
    :: guest(l).state != Ready || ENDED(l)
    :: true  // gives up
    fi;
    atomic { when(guest(l).state != Active, goto leave) };
    index = guest(l).begun;
    d_step { guest(l).begun = index; guest(l).progress = PROGRESS(index, 0) };
    ring(l);
    do
    :: true -> break  // wants no more
    :: true ->
       wait_for_message(l, VISITOR);
       atomic { when(outcome == OVER, assert(index == lane[l].published); break) };
       guest(l).begun = index + 1;
       d_step { check_message(l) };
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
    // LaneReader::leave
#ifdef BROKEN_LEAVE
    refused = false;
#else
    refused = guest(l).holder != me;
#endif
    if
    :: !refused ->
       lane[l].sleepers = lane[l].sleepers & BIT(HOME);
       guest(l).state = Leaving;
       ring(l)
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
  d_step { vanish(); index = 0; i = 0; outcome = 0; over = false; refused = false }
}
#endif

// ---- who is killed

byte simulation_deaths, home_deaths, guest_deaths;

#define KILL(p, deaths) \
  :: d_step { deaths > 0 && life[p] == Alive -> deaths--; life[p] = Killed; struck = p }
// The other rank of an MPI job is killed a little later.
#define FOLLOW(p, q) \
  :: d_step { life[p] == Alive && life[q] == Killed -> life[p] = Killed; struck = p }
#define KILL_JOB(p, deaths) \
  KILL(p, deaths) WITH_LANES(KILL((p) + 1, deaths) FOLLOW(p, (p) + 1) FOLLOW((p) + 1, p))

proctype Fate() provided (struck == 0) {
end:
  do
  KILL_JOB(SIMULATION(0), simulation_deaths)
#if CREWS > 0
  KILL_JOB(SIDECAR(0, 0), home_deaths)
#endif
#if CREWS > 1
  KILL_JOB(SIDECAR(1, 0), home_deaths)
#endif
#if CREWS > 2
  KILL_JOB(SIDECAR(2, 0), home_deaths)
#endif
#if GUESTS > 0
  KILL(GUEST(0), guest_deaths)
#endif
#if GUESTS > 1
  KILL(GUEST(1), guest_deaths)
#endif
  od
}

// How many are killed is chosen first, so that a rank that waits for ever is not taken for one that
// is still to be killed.
init {
  byte l, n;
  atomic {
    for (n : 0 .. PROCESSES - 1) { life[n] = Unborn }
    for (l : 0 .. LANES - 1) {
      for (n : 0 .. RECORDS - 1) { lane[l].records[n].number = NONE }
      WITH_GUESTS(guest(l).state = Free;)
      life[SIMULATION(l)] = Alive;
      run Simulation(l)
    }
#if CREWS > 0
    for (n : 0 .. CREWS - 1) {
      for (l : 0 .. LANES - 1) { run Sidecar(n, l) }
    }
#endif
#if GUESTS > 0
    for (n : 0 .. GUESTS - 1) { run Guest(n, 0) }
#endif
    select (n : 0 .. SIMULATION_DEATHS); simulation_deaths = n;
    select (n : 0 .. HOME_DEATHS); home_deaths = n;
    select (n : 0 .. GUEST_DEATHS); guest_deaths = n;
    l = 0; n = 0;
    run Fate()
  }
}
