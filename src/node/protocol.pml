// SPDX-License-Identifier: BSD-3-Clause
/* draft */
#ifndef LANES
#define LANES 1
#endif
#ifndef CREWS
#define CREWS 3
#endif
#ifndef GUESTS
#define GUESTS 0
#endif
#ifndef OFFERS
#define OFFERS 4
#endif
#ifndef UNITS
#define UNITS 3
#endif
#ifndef SIMULATION_DEATHS
#define SIMULATION_DEATHS 1
#endif
#ifndef HOME_DEATHS
#define HOME_DEATHS 2
#endif
#ifndef GUEST_DEATHS
#define GUEST_DEATHS 0
#endif
#ifndef STOPS
#define STOPS 1
#endif
#ifndef EARLY_RETURNS
#define EARLY_RETURNS 1
#endif

#define RECORDS 4
#define VALUE_RECORDS 2
#define MESSAGES (OFFERS + 1)
#define NONE 255

#define SIMULATION(l) (1 + (l))
#define SIDECAR(c, l) (1 + LANES + (c) * LANES + (l))
#define GUEST(g, l) (1 + LANES + CREWS * LANES + (g) * LANES + (l))
#define PROCESSES (1 + LANES + (CREWS + GUESTS) * LANES)

#define HOME 0
#define VISITOR 1
#if GUESTS > 0
#define SEATS 2
#else
#define SEATS 1
#endif

#define PROGRESS(done, lost) ((done) * 16 + (lost))
#define DONE(progress) ((progress) / 16)
#define LOST(progress) ((progress) % 16)

mtype = { Free, Claimed, Ready, Active, Leaving };
mtype = { Unborn, Alive, Stopped, Dead };
mtype = { Values, Dropped, Last, Over };

typedef Record { byte number; mtype kind; byte at; byte size };
typedef Seat { byte holder; mtype state; bool asleep; byte begun; byte progress };
typedef Lane {
  byte published;
  bool closed;
  bool asleep;
  Seat seats[SEATS];
  Record records[RECORDS];
  byte memory[UNITS]
};

Lane lane[LANES];
mtype life[PROCESSES];
bool seen[PROCESSES];    // the futex word is as this process saw it last
bool parked[PROCESSES];  // sleeps in the kernel
bool late[LANES];        // the deadline has passed
bool wait_policy, hasty;
byte given_to[MESSAGES];  // the crew that began with a message, plus one
bool finished[MESSAGES];
#if LANES > 1
bool worked[LANES];
chan inbox[PROCESSES] = [2] of { byte, byte }
#endif

#define is_alive(p) (life[p] == Alive || life[p] == Stopped)
#define record(l, i) lane[l].records[(i) % RECORDS]
#define home(l) lane[l].seats[HOME]
#define guest(l) lane[l].seats[VISITOR]

// ---- futexes

inline look_at_word() { seen[me] = true }

inline sleep_on_word() {
  d_step {
#ifdef BROKEN_COMPARE
    parked[me] = true;
#else
    parked[me] = seen[me];
#endif
    seen[me] = false
  }
}

inline change_call(l) {
  d_step {
    p = SIDECAR(0, l);
    do
    :: p < PROCESSES -> seen[p] = false; p = p + LANES
    :: else -> p = 0; break
    od
  }
}

inline wake_readers(l) {
  d_step {
    p = SIDECAR(0, l);
    do
    :: p < PROCESSES -> parked[p] = false; p = p + LANES
    :: else -> p = 0; break
    od
  }
}

// LaneReader::ring
inline ring(l) {
  seen[SIMULATION(l)] = false;
  if
  :: lane[l].asleep -> parked[SIMULATION(l)] = false
  :: else
  fi
}

// ---- the simulation's end: LaneWriter and Arena

// Arena::find and LaneWriter::fits: `at`, or NONE.
inline find(l, wanted) {
  at = NONE;
  i = freed;
  do
  :: i < lane[l].published ->
     if
     :: record(l, i).size > 0 ->
        front = (front == NONE -> record(l, i).at : front);
        back = record(l, i).at;
        end = back + record(l, i).size
     :: else
     fi;
     i++
  :: else -> break
  od;
  if
  :: front == NONE -> at = 0
  :: front != NONE && back < front -> at = (front - end >= wanted -> end : NONE)
  :: else ->
#ifdef BROKEN_WRAP
     at = (UNITS - end >= wanted -> end : 0)
#else
     at = (UNITS - end >= wanted -> end : (front >= wanted -> 0 : NONE))
#endif
  fi;
  at = (lane[l].published - freed >= VALUE_RECORDS -> NONE : at);
  front = NONE; back = 0; end = 0; i = 0
}

// What nobody needs is wiped, so that whoever still reads it is found out.
inline free_before(l, n) {
  do
  :: freed < n ->
     do
     :: record(l, freed).size > 0 ->
        record(l, freed).size--;
        lane[l].memory[record(l, freed).at + record(l, freed).size] = 0
     :: else -> break
     od;
     record(l, freed).at = 0; record(l, freed).number = NONE; record(l, freed).kind = 0;
     freed++
  :: else -> break
  od
}

inline least(value) { needed = (value < needed -> value : needed) }

#define DESERTED(l) (guest(l).holder != 0 && (guest(l).state == Leaving || !is_alive(guest(l).holder)))

#if GUESTS > 0
#define AND_GUESTS(deed) deed
#else
#define AND_GUESTS(deed)
#endif

inline clear_deserted(l) {
  if
  :: vacating && DESERTED(l) ->
     vacating = false;
     guest(l).asleep = false;
     guest(l).state = Free;
     guest(l).holder = 0
  :: else
  fi
}

inline need_of_guest(l) {
  if
  :: guest(l).state == Active || guest(l).state == Leaving ->
     if
#ifdef BROKEN_DEATH
     :: true -> d_step { least(DONE(guest(l).progress)) }
#else
     :: is_alive(guest(l).holder) -> d_step { least(DONE(guest(l).progress)) }
     :: else
#endif
     fi
  :: else
  fi
}

inline need_of_home(l) {
#ifdef BROKEN_REUSE
  least(home(l).begun)
#else
#ifdef BROKEN_FORGET
  if
  :: home(l).holder != 0 && !is_alive(home(l).holder)
  :: else -> least(DONE(home(l).progress))
  fi
#else
  least(DONE(home(l).progress))
#endif
#endif
}

inline reclaim(l) {
  AND_GUESTS(clear_deserted(l);)
  needed = lane[l].published;
  AND_GUESTS(need_of_guest(l);)
  d_step { 
#if CREWS > 0
    need_of_home(l);
#endif
    free_before(l, needed);
    needed = 0
  }
}

// LaneWriter::wait until there is room, as await_room does
inline await_room(l) {
  do
  :: at != NONE || late[l] -> break
  :: else ->
     lane[l].asleep = true;
     look_at_word();
     before = freed;
     reclaim(l);
     if
     :: freed == before ->
        sleep_on_word();
        atomic { !parked[me] AND_GUESTS(|| (vacating && DESERTED(l))) -> parked[me] = false }
     :: else -> seen[me] = false
     fi;
     before = 0;
     lane[l].asleep = false;
     reclaim(l);
     d_step { find(l, size) }
  od
}

inline write_message(l, what) {
  d_step {
    assert(lane[l].published - freed < RECORDS);
    record(l, lane[l].published).number = lane[l].published;
    record(l, lane[l].published).kind = what;
    if
    :: what == Values ->
       record(l, lane[l].published).at = at;
       record(l, lane[l].published).size = size;
       do
       :: i < size -> lane[l].memory[at + i] = lane[l].published + 1; i++
       :: else -> break
       od;
       i = 0
    :: else
    fi
  }
}

inline publish(l, what) {
#ifdef BROKEN_PUBLISH
  lane[l].published++;
  d_step { lane[l].published--; }
#endif
  write_message(l, what);
#ifdef BROKEN_FENCE
  sleeper = home(l).asleep;
#endif
  lane[l].published++;
  change_call(l);
#ifndef BROKEN_FENCE
  sleeper = home(l).asleep;
#endif
  AND_GUESTS(sleeper = sleeper || guest(l).asleep;)
  if
  :: sleeper -> wake_readers(l)
  :: else
  fi;
  sleeper = false
}

inline close(l) {
  lane[l].closed = true;
  change_call(l);
  wake_readers(l)
}

inline activate(l) {
  guest(l).begun = lane[l].published;
  guest(l).progress = PROGRESS(lane[l].published, 0);
#ifdef BROKEN_ACTIVATE
  guest(l).state = Active;
#else
  d_step { guest(l).state = (guest(l).state == Ready -> Active : guest(l).state) };
#endif
#ifndef BROKEN_VACATE
  vacating = false;
#endif
  change_call(l);
  wake_readers(l)
}

inline turn_away(l) {
  d_step { guest(l).state = (guest(l).state == Ready -> Claimed : guest(l).state) };
  change_call(l);
  wake_readers(l)
}

// SimulationSide::meet as far as guests go
inline tend_guests(l) {
  if
  :: deserted -> d_step { vacating = true; admitted = false }
  :: !deserted && ready ->
     assert(!admitted);
     if
     :: d_step { size_of_guest = 0; admitted = true }; activate(l)
     :: turn_away(l)
     fi
  :: else
  fi
}

proctype Simulation(byte me; byte l) {
  byte freed, offer, size, at, needed, before, i, p, front = NONE, back, end;
  bool full, blocked, stalled, sleeper;
#if GUESTS > 0
  bool deserted, ready, admitted, vacating;
#endif
#if LANES > 1
  byte full_there, blocked_there;
#endif
  {
    do
    :: offer == OFFERS -> break
    :: else ->
       offer++;
       // SimulationSide::meet
#if LANES > 1
       if
       :: offer > 1 -> inbox[me] ? full_there, blocked_there
       :: else
       fi;
#endif
       reclaim(l);
       AND_GUESTS(tend_guests(l);)
       if
#if LANES > 1
       :: blocked || blocked_there || (!wait_policy && (full || full_there))
#else
       :: blocked || (!wait_policy && full)
#endif
       :: else ->
          atomic {
            if
            :: size = 1
            :: size = 2
            fi;
            find(l, size)
          };
          if
          :: wait_policy ->
             await_room(l);
             d_step { stalled = (at == NONE); late[l] = false }
          :: else
          fi;
          if
          :: at != NONE -> publish(l, Values)
          :: else -> publish(l, Dropped)
          fi
       fi;
       // SimulationSide::part
       reclaim(l);
       AND_GUESTS(deserted = DESERTED(l);)
       AND_GUESTS(ready = !deserted && guest(l).state == Ready;)
       d_step {
         find(l, size);
         full = (at == NONE);
         at = 0;
         stalled = stalled && full;
#ifdef BROKEN_MARGIN
         blocked = stalled || lane[l].published - freed >= RECORDS
#else
         blocked = stalled || lane[l].published - freed + 1 >= RECORDS
#endif
       };
#if LANES > 1
       inbox[SIMULATION(1 - l)] ! full, blocked
#endif
    od;
    reclaim(l);
    publish(l, Last);
    close(l);
    life[me] = Dead
  } unless { life[me] == Dead };
  d_step {
    freed = 0; offer = 0; size = 0; at = 0; needed = 0; before = 0; i = 0; p = 0;
    front = 0; back = 0; end = 0; full = false; blocked = false; stalled = false; sleeper = false;
#if GUESTS > 0
    deserted = false; ready = false; admitted = false; vacating = false;
#endif
#if LANES > 1
    full_there = 0; blocked_there = 0;
#endif
  }
}

// ---- a sidecar's end: LaneReader, and Crew above it

#if LANES > 1
#define exchange(a, b) inbox[me ^ 1] ! a, b; inbox[me] ? theirs, theirs_too
#endif

// LaneReader::wait, again and again until there is something to say.
inline wait_for_message(l, s) {
  do
  :: atomic { lane[l].published > index -> outcome = record(l, index).kind; break }
  :: else ->
     lane[l].seats[s].asleep = true;
     look_at_word();
#ifdef BROKEN_RECHECK
     sleep_on_word();
#else
     if
     :: lane[l].published <= index ->
        if
        :: !lane[l].closed -> sleep_on_word()
        :: else -> seen[me] = false
        fi
     :: else -> seen[me] = false
     fi;
#endif
     atomic { !parked[me] || !is_alive(SIMULATION(l)) -> parked[me] = false };
     lane[l].seats[s].asleep = false;
     over = lane[l].closed || !is_alive(SIMULATION(l));
     atomic {
       if
#ifdef BROKEN_END
       :: over -> outcome = Over; over = false; break
#endif
       :: lane[l].published > index -> outcome = record(l, index).kind; over = false; break
       :: else ->
          if
          :: over -> outcome = Over; over = false; break
          :: else
          fi
       fi
     }
  od
}

// What is read is what was published.
inline check_message(l) {
  assert(record(l, index).number == index);
  i = 0;
  do
  :: i < record(l, index).size -> assert(lane[l].memory[record(l, index).at + i] == index + 1); i++
  :: else -> break
  od;
  i = 0
}

#define GONE (life[me] == Dead || life[me] == Stopped)

proctype Sidecar(byte me; byte crew; byte l) {
  byte index, progress, old, i;
  mtype outcome;
  bool over;
#if LANES > 1
  byte theirs, theirs_too;
#endif
  {
    // Crews are alike, so they may as well come in order.
    if
    :: crew == 0
    :: else -> life[SIDECAR(crew - 1, l)] != Unborn
    fi;
    life[me] = Alive;
    // Crew::take_home
#if LANES > 1
    if
    :: l > 0 -> inbox[me] ? theirs, _;
       if
       :: theirs == 0 -> goto refused
       :: else -> theirs = 0
       fi
    :: else
    fi;
#endif
    do
    :: old = home(l).holder;
#ifndef BROKEN_CLAIM
       if
       :: old != 0 && is_alive(old) ->
#if LANES > 1
          if
          :: l == 0 -> inbox[me ^ 1] ! 0, 0; goto refused
          :: else -> !is_alive(old)
          fi
#else
          goto refused
#endif
       :: else
       fi;
#endif
       atomic {
         if
#ifdef BROKEN_SWAP
         :: true -> home(l).holder = me; break
#endif
         :: home(l).holder == old -> home(l).holder = me; break
         :: else
         fi
       }
    od;
    old = 0;
    home(l).asleep = false;
#if LANES > 1
    if
    :: l == 0 -> inbox[me ^ 1] ! 1, 0
    :: else
    fi;
    exchange(0, 0);
#endif
    // Crew::take_over
    index = home(l).begun;
    progress = home(l).progress;
#if LANES > 1
    exchange(index, progress);
    d_step {
      index = (theirs > index -> theirs : index);
      progress = (theirs_too > progress -> theirs_too : progress);
      theirs = 0;
      theirs_too = 0
    };
#endif
#ifdef BROKEN_START
    index = DONE(progress);
#endif
    home(l).begun = index;
#ifdef BROKEN_LOST
    home(l).progress = PROGRESS(DONE(progress), LOST(progress) + index - DONE(progress));
#endif
    d_step {
      home(l).progress = PROGRESS(index, LOST(progress) + index - DONE(progress));
      progress = 0
    };
#ifndef BROKEN_RING
    ring(l);
#endif
    do
    :: wait_for_message(l, HOME);
#if LANES > 1
       exchange(outcome, 0);
       d_step {
         if
         :: theirs == Over || theirs == Dropped && outcome == Values -> outcome = theirs
         :: else
         fi;
         theirs = 0
       };
#endif
       if
       :: outcome == Over -> break
       :: else
       fi;
       d_step {
         home(l).begun = index + 1;
         assert(given_to[index] == 0 || given_to[index] == crew + 1);
         given_to[index] = crew + 1;
#if LANES > 1
         worked[l] = false
#endif
       };
#if LANES > 1
       d_step { check_message(l); worked[l] = true };
#ifndef BROKEN_ALONE
       exchange(0, 0);
#endif
#endif
#ifdef BROKEN_DONE
       home(l).progress = PROGRESS(index + 1, LOST(home(l).progress));
#endif
       d_step {
         check_message(l);
         home(l).progress = PROGRESS(index + 1, LOST(home(l).progress));
#if LANES > 1
         assert(worked[0] && worked[1]);
#endif
         finished[index] = true;
         index++
       };
       ring(l);
       if
       :: outcome == Last -> break
       :: else
       fi
    od;
    d_step {
      // Everything that all lanes have was dealt with, once.
      assert(index == lane[0].published || index == lane[LANES - 1].published);
      assert(index == DONE(home(l).progress));
      i = 0; old = 0;
      do
      :: i < index ->
         assert(given_to[i] > 0);
         old = old + (finished[i] -> 0 : 1);
         i++
      :: else -> break
      od;
      assert(old == LOST(home(l).progress));
      outcome = 0
    };
    // LaneReader::leave
    d_step { home(l).holder = (home(l).holder == me -> 0 : home(l).holder) };
refused:
    life[me] = Dead
  } unless { GONE };
  d_step {
    index = 0; progress = 0; old = 0; i = 0; outcome = 0; over = false;
#if LANES > 1
    theirs = 0; theirs_too = 0
#endif
  };
end: life[me] == Dead
}

#if GUESTS > 0
proctype Guest(byte me; byte l) {
  byte index, i;
  mtype outcome;
  bool over;
  {
    // Crew::take_guest_seat
    do
    :: atomic { guest(l).holder == 0 -> life[me] = Alive; guest(l).holder = me; break }
    :: guest(l).holder != 0 && life[me] == Unborn ->
       life[me] = Alive;
#ifdef BROKEN_LEAVE
       guest(l).state = Leaving;
#endif
       skip
    od
end_waiting: skip;
    guest(l).asleep = false;
    guest(l).state = Claimed;
    guest(l).state = Ready
  } unless { GONE };
end: life[me] == Dead
}
#endif

// ---- what befalls processes

inline kill(p) {
  if
  :: is_alive(p) -> life[p] = Dead; parked[p] = false; seen[p] = false
  :: else
  fi
}

byte simulation_deaths = SIMULATION_DEATHS, home_deaths = HOME_DEATHS, guest_deaths = GUEST_DEATHS;
byte stops = STOPS, early_returns = EARLY_RETURNS;

proctype Fate() {
  byte p;
end:
  do
  :: simulation_deaths + home_deaths + guest_deaths + stops + early_returns > 0 ->
     d_step { simulation_deaths = 0; home_deaths = 0; guest_deaths = 0; stops = 0; early_returns = 0 }
#if LANES == 1
  :: d_step { simulation_deaths > 0 && is_alive(SIMULATION(0)) ->
     simulation_deaths--; kill(SIMULATION(0)) }
  :: d_step { home_deaths > 0 && is_alive(SIDECAR(0, 0)) -> home_deaths--; kill(SIDECAR(0, 0)) }
#if CREWS > 1
  :: d_step { home_deaths > 0 && is_alive(SIDECAR(1, 0)) -> home_deaths--; kill(SIDECAR(1, 0)) }
#endif
  :: d_step { stops > 0 && life[SIDECAR(0, 0)] == Alive -> stops--; life[SIDECAR(0, 0)] = Stopped; parked[SIDECAR(0, 0)] = false; seen[SIDECAR(0, 0)] = false }
  :: d_step { early_returns > 0 && parked[SIMULATION(0)] -> early_returns--; parked[SIMULATION(0)] = false }
  :: d_step { early_returns > 0 && parked[SIDECAR(0, 0)] -> early_returns--; parked[SIDECAR(0, 0)] = false }
#endif
  od
}

#define IDLE(p) (life[p] != Alive)

proctype Clock() {
  byte l;
end:
  do
  :: d_step { hasty && parked[SIMULATION(0)] && !late[0] -> late[0] = true; parked[SIMULATION(0)] = false }
  :: d_step { hasty && parked[SIMULATION(LANES - 1)] && !late[LANES - 1] -> late[LANES - 1] = true; parked[SIMULATION(LANES - 1)] = false }
  :: timeout ->
     d_step {
       l = (parked[SIMULATION(0)] -> 0 : LANES - 1);
       if
       :: parked[SIMULATION(l)] ->
         assert(IDLE(home(l).holder));
         late[l] = true; parked[SIMULATION(l)] = false
       :: else
       fi
     }
  od
}

init {
  byte l, c;
  atomic {
    if
    :: wait_policy = false
    :: wait_policy = true; hasty = false
    :: wait_policy = true; hasty = true
    fi;
    for (c : 0 .. PROCESSES - 1) {
      life[c] = Unborn
    }
    for (l : 0 .. LANES - 1) {
      for (c : 0 .. RECORDS - 1) {
        lane[l].records[c].number = NONE
      }
      life[SIMULATION(l)] = Alive;
      run Simulation(SIMULATION(l), l);
#if CREWS > 0
      for (c : 0 .. CREWS - 1) {
        run Sidecar(SIDECAR(c, l), c, l)
      }
#endif
    }
    l = 0; c = 0;
    run Fate();
    run Clock()
  }
}
