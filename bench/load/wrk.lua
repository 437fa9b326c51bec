-- The request comes from the environment. The result is printed to standard output as one line of JSON.
-- {id} in the path or in a header is replaced by a random id, in the same order in every run. With {sequence} in the body, which is
-- replaced by a number of the same length, the ids are in sequence instead.

local path = os.getenv('BENCH_PATH')
local ids = tonumber(os.getenv('BENCH_IDS') or '0')

wrk.method = os.getenv('BENCH_METHOD')
wrk.path = path
wrk.body = os.getenv('BENCH_BODY')
local headers = os.getenv('BENCH_HEADERS') or ''
for line in headers:gmatch('[^\n]+') do
  local name, value = line:match('^([^:]+): (.*)$')
  wrk.headers[name] = value
end

-- Without a request function wrk sends a constant string, which is cheaper.
if path:find('{id}', 1, true) or headers:find('{id}', 1, true) then
  local isSequence = (wrk.body or ''):find('{sequence}', 1, true)
  local started = 0
  function setup(thread)
    thread:set('threadIndex', started)
    started = started + 1
  end

  local parts, sequence
  local step = tonumber(os.getenv('BENCH_THREADS'))
  function init()
    math.randomseed(tonumber(os.getenv('BENCH_SEED')))
    sequence = tonumber(os.getenv('BENCH_SEQUENCE')) + threadIndex
    local text = wrk.format(wrk.method, path, wrk.headers, wrk.body)
    parts = { text:match(isSequence and '^(.-){id}(.-){sequence}(.*)$' or '^(.-){id}(.*)$') }
  end

  local random, format = math.random, string.format
  function request()
    if not isSequence then return parts[1] .. random(1, ids) .. parts[2] end
    sequence = sequence + step
    return parts[1] .. sequence % ids + 1 .. parts[2] .. format('%010d', sequence) .. parts[3]
  end
end

function done(summary)
  local cpu = 0
  local stat = io.open('/proc/self/stat')
  if stat then
    local fields = {}
    for field in stat:read('*a'):match('^.*%) (.*)$'):gmatch('%S+') do fields[#fields + 1] = field end
    stat:close()
    cpu = (tonumber(fields[12]) + tonumber(fields[13])) / 100
  end
  local errors = summary.errors
  print(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"non2xx":%d,"errors":%d,"cpuSeconds":%.2f}',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout, cpu))
end
