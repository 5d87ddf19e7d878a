import { createHash } from 'node:crypto'

/**
 * Applies changes one after the other, in the order of the log, each under its version. KEYS has two for each entry: its own,
 * and the one beside it that notes versions. ARGV: the form, milliseconds that entries and notes of deleted ones are
 * kept (0: for ever), and then for each change: entry, `d` or `u`, partition, offset, number of groups and their
 * versions (`-`: has none; empty: newer than all before), number of fields and for each its group, name, and `=` with a value
 * or `0` for null. Gives a text for each change: empty, or why it was refused.
 */
export const script = `
local form, ttl, kept = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local at = 3
local function take() at = at + 1 return ARGV[at] end
local results = {}
local function isNewer(notes, group, version, partition, offset)
  if version == '-' then return true end
  local known = redis.call('HMGET', notes, 'v' .. group, 'p' .. group, 'o' .. group)
  if not known[2] then return true end
  local isSame = known[2] == partition
  if version == '' then return not (isSame and offset < known[3]) end
  if not known[1] or version > known[1] then return true end
  return version == known[1] and isSame and offset >= known[3]
end
while at < #ARGV do
  local index = tonumber(take())
  local entry, notes = KEYS[2 * index - 1], KEYS[2 * index]
  local isDelete, partition, offset = take() == 'd', take(), take()
  local groups = tonumber(take())
  local versions, newer, isAny, isAll = {}, {}, false, true
  for group = 1, groups do
    versions[group] = take()
    newer[group] = isNewer(notes, group, versions[group], partition, offset)
    isAny = isAny or newer[group]
    isAll = isAll and newer[group]
  end
  local fields = tonumber(take())
  local touched, sets, removes = {}, {}, {}
  for _ = 1, fields do
    local group, name, flag = tonumber(take()), take(), take()
    local value
    if flag == '=' then value = take() end
    if newer[group] then
      touched[group] = true
      if value then sets[#sets + 1] = { name, value } else removes[#removes + 1] = name end
    end
  end
  if groups == 1 and newer[1] then touched[1] = true end
  local failed
  local function try(...)
    local answer = redis.pcall(...)
    if type(answer) == 'table' and answer.err then failed = failed or answer.err end
  end
  if isDelete then
    if isAll then
      try('UNLINK', entry)
      for group = 1, groups do touched[group] = true end
    end
  elseif form == 'json' then
    if isAny and ttl > 0 then try('SET', entry, sets[1][2], 'PX', ttl)
    elseif isAny then try('SET', entry, sets[1][2]) end
  else
    for _, pair in ipairs(sets) do try('HSET', entry, pair[1], pair[2]) end
    for _, name in ipairs(removes) do try('HDEL', entry, name) end
    if ttl > 0 and #sets > 0 then try('PEXPIRE', entry, ttl) end
  end
  if not failed and (not isDelete or isAll) then
    local isNoted = false
    for group = 1, groups do
      if touched[group] and versions[group] ~= '-' then
        isNoted = true
        redis.call('HSET', notes, 'p' .. group, partition, 'o' .. group, offset)
        if versions[group] ~= '' then redis.call('HSET', notes, 'v' .. group, versions[group]) end
      end
    end
    if isNoted and isDelete then redis.call('PEXPIRE', notes, kept)
    elseif isNoted and ttl > 0 then redis.call('PEXPIRE', notes, ttl + kept)
    elseif isNoted then redis.call('PERSIST', notes) end
  end
  results[#results + 1] = failed or ''
end
return results`

/** What the server knows the script by. */
export const scriptHash: string = createHash('sha1').update(script).digest('hex')
