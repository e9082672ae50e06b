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

#define RECORDS 4
#define VALUE_RECORDS 2
#define NONE 255

#define SIMULATION(l) (1 + (l))
#define SIDECAR(c, l) (1 + LANES + (c) * LANES + (l))
#define GUEST(g, l) (1 + LANES + CREWS * LANES + (g) * LANES + (l))
#define PROCESSES (1 + LANES + (CREWS + GUESTS) * LANES)

#define HOME 0
#define VISITOR 1
#if GUESTS > 0
#define SEATS 2
#define AND_GUESTS(deed) deed
#else
#define SEATS 1
#define AND_GUESTS(deed)
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
bool wait_policy;

mtype life[PROCESSES];
bool seen[PROCESSES];    // the futex word is as this process saw it last
bool parked[PROCESSES];  // sleeps in the kernel
byte struck;             // dies or stops just now: nobody else moves meanwhile
bool late[LANES];        // the deadline has passed
#define me _pid
#define MAY_MOVE provided (struck == 0 || struck == _pid)
#define WHEN_CALM provided (struck == 0)

byte given;     // messages that any crew has begun with
byte finished;  // of these, finished
bool served;    // a crew has seen the end
#if LANES > 1
byte giver;
bool worked[LANES];
bool waiting[PROCESSES];
chan inbox[PROCESSES] = [2] of { byte, byte };
#endif

#define is_alive(p) (life[p] == Alive || life[p] == Stopped)
#define record(l, i) lane[l].records[(i) % RECORDS]
#define home(l) lane[l].seats[HOME]
#define guest(l) lane[l].seats[VISITOR]

// ---- futexes

inline look_at_word() { seen[me] = true }

inline sleep_on_word() {
  if
#ifdef BROKEN_COMPARE
  :: parked[me] = true
#else
  :: parked[me] = seen[me]
#endif
#ifndef NO_EARLY_RETURN
  :: true  // returns at once, or for want of patience
#endif
  fi
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
    p = SIDECAR(0, l);
    do
    :: p < PROCESSES -> parked[p] = false; p = p + LANES
    :: else -> p = 0; break
    od
}

// LaneReader::ring, its two halves
inline change_bell(l) { seen[SIMULATION(l)] = false }

inline wake_simulation(l) {
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
        last = back + record(l, i).size
     :: else
     fi;
     i++
  :: else -> break
  od;
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
  front = NONE; back = 0; last = 0; i = 0
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
  d_step {
    needed = lane[l].published;
#if CREWS > 0
    need_of_home(l);
#endif
#if GUESTS > 0
  };
  need_of_guest(l);
  d_step {
#endif
    free_before(l, needed);
    needed = 0
  }
}

// LaneWriter::wait until there is room, as await_room does
inline await_room(l) {
  do
  :: at != NONE -> break
  :: at == NONE -> break  // the deadline has passed
  :: at == NONE && !late[l] ->
     lane[l].asleep = true;
     look_at_word();
     before = freed;
     reclaim(l);
     if
     :: freed == before ->
        sleep_on_word();
        !parked[me] AND_GUESTS(|| (vacating && DESERTED(l)))
     :: else
     fi;
     d_step { parked[me] = false; seen[me] = false; lane[l].asleep = false; before = 0 };
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
  atomic {
    if
    :: sleeper -> wake_readers(l)
    :: else
    fi;
    sleeper = false
  }
}

inline close(l) {
  lane[l].closed = true;
  change_call(l);
  d_step { wake_readers(l) }
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
     :: admitted = true; activate(l)
     :: turn_away(l)
     fi
  :: else
  fi
}

proctype Simulation(byte l) MAY_MOVE {
  byte freed, offer, size, at, needed, before, i, p, front = NONE, back, last;
  bool crowded, blocked, stalled, sleeper;
#if GUESTS > 0
  bool deserted, ready, admitted, vacating;
#endif
#if LANES > 1
  byte crowded_there, blocked_there;
#endif
  {
    do
    :: offer == OFFERS -> break
    :: atomic {
         offer < OFFERS -> offer++;
#if LANES > 1
         if
         :: offer > 1 -> inbox[me] ? crowded_there, blocked_there;
            crowded = crowded || crowded_there; blocked = blocked || blocked_there
         :: else
         fi;
#endif
       }
       // SimulationSide::meet
       reclaim(l);
       AND_GUESTS(tend_guests(l);)
       if
       :: blocked || (crowded && !wait_policy)
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
             atomic { stalled = (at == NONE); late[l] = false }
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
         crowded = (at == NONE);
         at = 0;
         stalled = stalled && crowded;
#ifdef BROKEN_MARGIN
         blocked = stalled || lane[l].published - freed >= RECORDS
#else
         blocked = stalled || lane[l].published - freed + 1 >= RECORDS
#endif
#if LANES > 1
         ;
         inbox[SIMULATION(1 - l)] ! crowded, blocked
#endif
       }
    od;
    atomic { reclaim(l) };
    publish(l, Last);
    close(l);
    struck = me
  } unless { struck == me };
  d_step {
    struck = 0; life[me] = Dead; parked[me] = false; seen[me] = false;
    freed = 0; offer = 0; size = 0; at = 0; needed = 0; before = 0; i = 0; p = 0;
    front = 0; back = 0; last = 0; crowded = false; blocked = false; stalled = false; sleeper = false;
#if GUESTS > 0
    deserted = false; ready = false; admitted = false; vacating = false;
#endif
#if LANES > 1
    crowded_there = 0; blocked_there = 0;
#endif
  }
}

// ---- a sidecar's end: LaneReader, and Crew above it

#if LANES > 1
#define PEER SIDECAR(crew, 1 - l)
#define exchange(a, b) \
  atomic { inbox[PEER] ! a, b; waiting[me] = true }; \
  atomic { inbox[me] ? theirs, theirs_too; waiting[me] = false }
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
     :: lane[l].published <= index && !lane[l].closed -> sleep_on_word()
     :: else
     fi;
#endif
     d_step {
       !parked[me] || !is_alive(SIMULATION(l)) ->
       parked[me] = false;
       seen[me] = false;
       lane[l].seats[s].asleep = false
     };
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

#if LANES > 1
#define ALSO_PEER || index + 1 == given && giver == crew
#else
#define ALSO_PEER
#endif

#ifdef BROKEN_CLAIM
#define LEFT_TO_ME true
#else
#define LEFT_TO_ME !is_alive(home(l).holder)
#endif
#if LANES > 1
#define MY_TURN (l == 0 -> crew == 0 || life[SIDECAR(crew - 1, 0)] != Unborn : home(0).holder == SIDECAR(crew, 0))
#else
#define MY_TURN (crew == 0 || life[SIDECAR(crew - 1, 0)] != Unborn)
#endif
#define MAY_COME !served && (crew == 0 || home(0).holder != 0) && MY_TURN && LEFT_TO_ME

proctype Sidecar(byte crew; byte l) MAY_MOVE {
  byte index, progress, old, i;
  mtype outcome;
  bool over;
#if LANES > 1
  byte theirs, theirs_too;
#endif
  // Crew::take_home. Crews are alike, so they may as well come in order; one that finds a living
  // holder has no part in anything, so none comes before that.
end:
  atomic {
    MAY_COME ->
    life[me] = Alive;
    old = home(l).holder
  };
  {
    do
    :: atomic {
         if
#ifdef BROKEN_SWAP
         :: true -> home(l).holder = me; break
#endif
         :: home(l).holder == old -> home(l).holder = me; break
         :: else -> old = 0
         fi
       };
end_refused:
       atomic { LEFT_TO_ME -> old = home(l).holder }
    od;
    atomic {
      old = 0;
      home(l).asleep = false
    };
    // Crew::take_over
#if LANES > 1
    exchange(0, 0);
    atomic { index = home(l).begun; progress = home(l).progress };
    exchange(index, progress);
    d_step {
      index = (theirs > index -> theirs : index);
      progress = (theirs_too > progress -> theirs_too : progress);
      theirs = 0;
      theirs_too = 0
    };
    home(l).begun = index;
#else
    d_step {
      index = home(l).begun; progress = home(l).progress;
#ifdef BROKEN_START
      index = DONE(progress);
#endif
      home(l).begun = index
    };
#endif
#ifdef BROKEN_LOST
    home(l).progress = PROGRESS(DONE(progress), LOST(progress) + index - DONE(progress));
#endif
    d_step {
      home(l).progress = PROGRESS(index, LOST(progress) + index - DONE(progress));
      progress = 0
    };
#ifndef BROKEN_RING
    change_bell(l);
    wake_simulation(l);
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
       atomic {
         if
         :: outcome == Over -> break
         :: else
         fi;
         home(l).begun = index + 1;
         assert(index == given ALSO_PEER);
         given = index + 1;
#if LANES > 1
         giver = crew;
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
         finished++;
         index++
       };
       change_bell(l);
       atomic {
         wake_simulation(l);
         if
         :: outcome == Last -> break
         :: else -> outcome = 0
         fi
       }
    od;
    // Everything that all lanes have was dealt with, once. LaneReader::leave.
    atomic {
      assert(index == lane[0].published || index == lane[LANES - 1].published);
      assert(index == given);
      assert(home(l).progress == PROGRESS(index, index - finished));
      home(l).holder = (home(l).holder == me -> 0 : home(l).holder);
      served = true;
      struck = me
    }
  } unless { struck == me };
  d_step {
    struck = 0; life[me] = (life[me] == Stopped -> Stopped : Dead);
    parked[me] = false; seen[me] = false;
    index = 0; progress = 0; old = 0; i = 0; outcome = 0; over = false;
#if LANES > 1
    theirs = 0; theirs_too = 0; waiting[me] = false
#endif
  }
}

// ---- what befalls processes

byte simulation_deaths = SIMULATION_DEATHS, home_deaths = HOME_DEATHS, guest_deaths = GUEST_DEATHS;
byte stops = STOPS;

#define MAY_STRIKE(p) (life[p] == Alive && !parked[p])

proctype Fate() WHEN_CALM {
end:
  do
#if LANES == 1
  :: d_step { simulation_deaths > 0 && MAY_STRIKE(SIMULATION(0)) ->
     simulation_deaths--; struck = SIMULATION(0) }
  :: d_step { home_deaths > 0 && MAY_STRIKE(SIDECAR(0, 0)) -> home_deaths--; struck = SIDECAR(0, 0) }
#if CREWS > 1
  :: d_step { home_deaths > 0 && MAY_STRIKE(SIDECAR(1, 0)) -> home_deaths--; struck = SIDECAR(1, 0) }
#endif
  :: d_step { stops > 0 && MAY_STRIKE(SIDECAR(0, 0)) -> stops--; life[SIDECAR(0, 0)] = Stopped; struck = SIDECAR(0, 0) }
#endif
  od
}

#define IDLE(p) (life[p] != Alive)

proctype Clock() WHEN_CALM {
  byte l;
end:
  do
  :: timeout && (parked[SIMULATION(0)] || parked[SIMULATION(LANES - 1)]) ->
     d_step {
       l = (parked[SIMULATION(0)] -> 0 : LANES - 1);
       assert(IDLE(home(l).holder));
       late[l] = true; parked[SIMULATION(l)] = false;
       l = 0
     }
  od
}

init {
  byte l, c;
  atomic {
    if
    :: wait_policy = false
    :: wait_policy = true
    fi;
    for (c : 0 .. PROCESSES - 1) {
      life[c] = Unborn
    }
    for (l : 0 .. LANES - 1) {
      for (c : 0 .. RECORDS - 1) {
        lane[l].records[c].number = NONE
      }
      life[SIMULATION(l)] = Alive;
      run Simulation(l)
    }
#if CREWS > 0
    for (c : 0 .. CREWS - 1) {
      for (l : 0 .. LANES - 1) {
        run Sidecar(c, l)
      }
    }
#endif
    l = 0; c = 0;
    run Fate();
    run Clock()
  }
}
