-- The request comes from the environment. The result is printed to standard output as one line of JSON.
-- {id} in the path is replaced by a random id, in the same sequence in every run.

local path = os.getenv('BENCH_PATH')
local ids = tonumber(os.getenv('BENCH_IDS') or '0')

wrk.method = os.getenv('BENCH_METHOD')
wrk.path = path
wrk.body = os.getenv('BENCH_BODY')
for line in (os.getenv('BENCH_HEADERS') or ''):gmatch('[^\n]+') do
  local name, value = line:match('^([^:]+): (.*)$')
  wrk.headers[name] = value
end

-- Without a request function wrk sends a constant string, which is cheaper.
if path:find('{id}', 1, true) then
  local before, after
  function init()
    math.randomseed(tonumber(os.getenv('BENCH_SEED')))
    local text = wrk.format(wrk.method, path, wrk.headers, wrk.body)
    local from, to = text:find('{id}', 1, true)
    before, after = text:sub(1, from - 1), text:sub(to + 1)
  end
  local random = math.random
  function request()
    return before .. random(1, ids) .. after
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
