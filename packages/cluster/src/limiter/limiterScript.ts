/**
 * The limiter in Redis: the book of starts that processes share. The book is one value, so that it can't be lost in part. The
 * tests have a twin of it in TypeScript, line by line, which explains it.
 *
 * `KEYS[1]` is the book, `ARGV[1]` the call as JSON. `ARGV[2]` to `ARGV[4]` are the time, the run id and the age of the data in
 * a test; empty: Redis' own. The script returns the fields of a `LimiterReply`.
 */
export const limiterScript = `
local maxRoundTrip, lease, shownFor, retryAfter, maxDrift = 250000, 500000, 60000000, 10000, 50000
local arrivalMargin = 13000

local function copyOf(list)
  local copy = {}
  for at = 1, #list do copy[at] = list[at] end
  return copy
end

local function filter(list, isKept)
  local kept = {}
  for _, each in ipairs(list) do if isKept(each) then kept[#kept + 1] = each end end
  return kept
end

local function placeOf(workers, id)
  for place, each in ipairs(workers) do if each.id == id then return place end end
  return nil
end

local function refused(status, time, book)
  return { status, time, book and book.openedAt or 0, 0, -1, 0, 0, 0, book and book.inForce or '', {} }
end

local function reopen(book, windows, time, runId, knownFor)
  book.runId = runId
  book.openedAt = time
  book.pausedUntil = time + math.max(0, book.pausedUntil - book.time)
  book.time = time
  book.closedUntil, book.log, book.granted, book.workers = {}, {}, {}, {}
  for w, window in ipairs(windows) do
    book.closedUntil[w] = time + window.span + maxRoundTrip - knownFor
    book.log[w] = {}
  end
end

local function enterIn(starts, window, time, cost)
  local bucket = math.ceil(time / window.width) * window.width
  local place = #starts
  while place > 0 and starts[place - 1] > bucket do place = place - 2 end
  if place > 0 and starts[place - 1] == bucket then
    starts[place] = starts[place] + cost
  else
    table.insert(starts, place + 1, bucket)
    table.insert(starts, place + 2, cost)
  end
end

local function leaveIn(starts, window, time, cost)
  local bucket = math.ceil(time / window.width) * window.width
  for place = 1, #starts, 2 do
    if starts[place] == bucket and starts[place + 1] >= cost then
      starts[place + 1] = starts[place + 1] - cost
      return true
    end
  end
  return false
end

local function enter(log, windows, time, costs)
  for w, window in ipairs(windows) do enterIn(log[w], window, time, costs[w]) end
end

local function leave(log, windows, time, costs)
  for w, window in ipairs(windows) do leaveIn(log[w], window, time, costs[w]) end
end

local function shift(log, windows, time, by, costs)
  for w, window in ipairs(windows) do
    if window.per and leaveIn(log[w], window, time, costs[w]) then enterIn(log[w], window, time + by, costs[w]) end
  end
end

local function averaged(average, value)
  return math.floor((7 * average + value) / 8)
end

local function shiftOf(lateness, windows, took)
  local length, maxSpare, sparePerStart = math.huge, math.huge, math.huge
  for _, window in ipairs(windows) do
    if window.per then
      length = math.min(length, window.max)
      maxSpare = math.min(maxSpare, math.floor(500 * window.max * window.per))
      sparePerStart = math.min(sparePerStart, math.floor(10 * window.per))
    end
  end
  local fastest = math.min(lateness.fastest or took, took)
  local usual = math.min(fastest, lateness.fastestBefore)
  lateness.fastest = fastest
  lateness.counted = lateness.counted + 1
  if lateness.counted >= length then
    lateness.fastestBefore, lateness.fastest, lateness.counted = fastest, nil, 0
  end
  local spare = math.min(maxSpare, (lateness.spare or maxSpare) + sparePerStart)
  local by = took - arrivalMargin
  if by > 0 then by = math.min(spare, math.max(0, by - usual)) end
  lateness.spare = spare - by
  return by
end

local function report(book, windows, call)
  for _, used in ipairs(call.used) do
    if used.at >= book.openedAt and used.at <= book.time and #used.costs == #windows then
      local start = used.at + used.late
      if not used.isCounted then
        local length = #book.granted
        book.granted = filter(book.granted, function(each)
          return each.worker ~= call.worker or each.at ~= used.at or each.nth ~= used.nth
        end)
        if #book.granted == length then leave(book.log, windows, used.at + maxRoundTrip, used.costs) end
        if used.late >= 0 then enter(book.log, windows, start, used.costs) end
        if used.late >= 0 and used.late <= maxRoundTrip then
          book.usualDelay.start = averaged(book.usualDelay.start, used.late)
        end
      end
      if used.took >= 0 then
        shift(book.log, windows, start, shiftOf(book.lateness, windows, used.took), used.costs)
      end
    end
  end
end

local function trim(book, windows, now)
  for _, each in ipairs(book.granted) do
    if each.at + maxRoundTrip <= now then enter(book.log, windows, each.at + maxRoundTrip, each.costs) end
  end
  book.granted = filter(book.granted, function(each) return each.at + maxRoundTrip > now end)
  for w, window in ipairs(windows) do
    local starts, left = book.log[w], {}
    local old = 0
    while old < #starts and starts[old + 1] + window.span <= now do old = old + 2 end
    for at = old + 1, #starts do left[#left + 1] = starts[at] end
    book.log[w] = left
  end
  book.workers = filter(book.workers, function(each) return each.until_ > now end)
end

local function usedNow(book, w)
  local used = 0
  for at = 2, #book.log[w], 2 do used = used + book.log[w][at] end
  for _, each in ipairs(book.granted) do used = used + each.costs[w] end
  return used
end

local function takeTurns(book, windows, call, now)
  local used, isOpen = {}, now >= book.pausedUntil
  for w = 1, #windows do
    used[w] = usedNow(book, w)
    if book.closedUntil[w] > now then isOpen = false end
  end
  local ring, soon = {}, now + book.usualDelay.call
  for _, each in ipairs(book.workers) do
    if each.id == call.worker or (each.wants > 0 and each.due <= soon) then
      ring[#ring + 1] = { id = each.id, wants = each.wants, costs = each.costs }
    end
  end
  if not placeOf(ring, call.worker) then ring[#ring + 1] = { id = call.worker, wants = 0, costs = {} } end
  local granted, first = 0, 1
  while isOpen and ring[first] and granted < #call.wants do
    local turn = ring[first]
    first = first + 1
    local isOwn = turn.id == call.worker
    local costs = isOwn and call.wants[granted + 1] or turn.costs
    local fits = true
    for w, window in ipairs(windows) do if used[w] + costs[w] > window.max then fits = false end end
    if not fits then break end
    for w = 1, #windows do used[w] = used[w] + costs[w] end
    if isOwn then
      book.granted[#book.granted + 1] = { worker = call.worker, at = now, nth = granted, costs = costs }
      granted = granted + 1
    end
    if isOwn or turn.wants > 1 then
      ring[#ring + 1] = { id = turn.id, wants = turn.wants - 1, costs = turn.costs }
    end
  end
  local seat = { id = call.worker, wants = #call.wants - granted, running = call.running, due = 0, until_ = 0 }
  seat.costs = call.wants[granted + 1] or {}
  local last = book.workers[placeOf(book.workers, call.worker) or 0]
  if granted > 0 and last and last.wants > 0 then
    book.usualDelay.call = averaged(book.usualDelay.call, math.max(0, now - last.due))
  end
  local place = granted == 0 and placeOf(book.workers, call.worker) or nil
  book.workers = filter(book.workers, function(each) return each.id ~= call.worker end)
  if seat.wants == 0 and call.running == 0 then return granted end
  table.insert(book.workers, place or #book.workers + 1, seat)
  return granted
end

local function nextTurn(book, windows, worker, now)
  local place = placeOf(book.workers, worker)
  if not place then return -1 end
  local seat = book.workers[place]
  if seat.wants == 0 then
    seat.until_ = now + shownFor
    return -1
  end
  local log, used, oldest = {}, {}, {}
  local time = math.max(now, book.pausedUntil)
  for w = 1, #windows do
    log[w], used[w], oldest[w] = copyOf(book.log[w]), 0, 1
    time = math.max(time, book.closedUntil[w])
  end
  for _, each in ipairs(book.granted) do enter(log, windows, each.at + book.usualDelay.start, each.costs) end
  local delay = book.usualDelay.call + book.usualDelay.start
  for w = 1, #windows do for at = 2, #log[w], 2 do used[w] = used[w] + log[w][at] end end
  for at = 1, place do
    local each = book.workers[at]
    if each.wants > 0 then
      for w, window in ipairs(windows) do
        local starts = log[w]
        while oldest[w] <= #starts do
          local leaves = starts[oldest[w]] + window.span
          if leaves > time and used[w] + each.costs[w] <= window.max then break end
          time = math.max(time, leaves)
          used[w] = used[w] - starts[oldest[w] + 1]
          oldest[w] = oldest[w] + 2
        end
      end
      for w = 1, #windows do used[w] = used[w] + each.costs[w] end
      enter(log, windows, time + delay, each.costs)
    end
  end
  seat.due = time > now and time or now + retryAfter
  seat.until_ = seat.due + lease
  return seat.due - now
end

local call = cjson.decode(ARGV[1])
local clock = tonumber(ARGV[2])
if not clock then
  local seconds = redis.call('TIME')
  clock = seconds[1] * 1000000 + seconds[2]
end
-- A primary that was a replica for a while has the run id that it had before, and its book may be old: then its second
-- replication id is that of the primary that it followed.
local function idOf(section, field) return string.match(redis.call('INFO', section), field .. ':(%x+)') or '' end
local runId = ARGV[3] ~= '' and ARGV[3] or idOf('server', 'run_id') .. idOf('replication', 'master_replid2')

-- How long Redis has certainly kept all keys: since it was started, unless it was a replica, or somebody has removed keys.
local function knownFor()
  local stats = redis.call('INFO', 'commandstats')
  if not stats:find('cmdstat_', 1, true) or not redis.call('INFO', 'stats'):find('evicted_keys:0%s') then return 0 end
  if not idOf('replication', 'master_replid2'):find('^0+$') then return 0 end
  for _, command in ipairs({
    'flushall', 'flushdb', 'swapdb', 'del', 'unlink', 'delex', 'getdel', 'rename', 'renamenx', 'move', 'migrate', 'getex',
    'expire', 'expireat', 'pexpire', 'pexpireat', 'replicaof', 'slaveof', 'debug', 'config', 'config|resetstat'
  }) do
    if stats:find('cmdstat_' .. command .. ':', 1, true) then return 0 end
  end
  -- Both ends of an uptime are rounded down to seconds.
  return math.max(0, tonumber(redis.call('INFO', 'server'):match('uptime_in_seconds:(%d+)') or 0) - 1) * 1000000
end

local packed = redis.call('GET', KEYS[1])
local first = call.replace ~= '' and call.replace or call.declared ~= '' and call.declared or call.fallback
if not packed and (first == '' or call.worker == '') then return refused('none', clock) end
local book = packed and cmsgpack.unpack(packed) or {
  declared = first, inForce = first, runId = '', openedAt = 0, time = 0, usualDelay = { call = 0, start = 0 }, pausedUntil = 0,
  closedUntil = {}, log = {}, granted = {}, workers = {}
}
-- A book of an older version has none.
book.lateness = book.lateness or { fastestBefore = 0, counted = 0 }
local isKnown = call.declared == '' or call.declared == book.declared or call.declared == book.inForce
if not isKnown and call.replace == '' then return refused('other', clock, book) end
if call.replace ~= '' and call.replace ~= book.inForce then
  book.inForce = call.replace
  book.runId = ''
end
local windows = cjson.decode(book.inForce)
local isStepped = book.time - clock > maxDrift or call.steppedSince == book.openedAt
if book.runId ~= runId or isStepped then
  local known = not packed and (tonumber(ARGV[4]) or knownFor()) or 0
  reopen(book, windows, clock, runId, known)
end
local now = math.max(clock, book.time + 1)
book.time = now
local reply
if call.worker ~= '' and call.known ~= book.inForce then
  reply = refused('learn', now, book)
else
  report(book, windows, call)
  if call.pause > 0 then book.pausedUntil = math.max(book.pausedUntil, now + call.pause) end
  trim(book, windows, now)
  local granted = takeTurns(book, windows, call, now)
  local due = nextTurn(book, windows, call.worker, now)
  local queued, running = 0, 0
  for _, each in ipairs(book.workers) do
    if each.id ~= call.worker then queued, running = queued + each.wants, running + each.running end
  end
  local used = {}
  for w, window in ipairs(windows) do
    -- To those who want permits a closed window is full. Who only looks sees the starts.
    local isFull = call.worker ~= '' and book.closedUntil[w] > now
    used[w] = isFull and window.max or usedNow(book, w)
  end
  local pausedFor = math.max(0, book.pausedUntil - now)
  reply = { 'ok', now, book.openedAt, granted, due, queued, running, pausedFor, book.inForce, used }
end
if call.worker ~= '' then redis.call('SET', KEYS[1], cmsgpack.pack(book)) end
return reply
`;
