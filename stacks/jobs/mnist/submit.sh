#!/usr/bin/env bash
# Submits the MNIST jobs of the batch platform, round after round: four of each group for each of four teams.
#
#   stacks/jobs/mnist/submit.sh                    64 jobs: low, high, compact and jobset, one group after the other
#   stacks/jobs/mnist/submit.sh low high           32 jobs of two groups
#   ROUNDS=1 stacks/jobs/mnist/submit.sh           16 jobs: one of each group for each team
#
# Run it from the root of the repository, where `berth` reads the stack file. STACK is another stack with the same queues.
set -euo pipefail
stack=${STACK:-stacks/examples/batch-platform.yaml}
here=$(dirname "$0")

options() {
  case $1 in
    low) echo lp --kind job --gpus 2 --backoff-limit 20 ;;
    high) echo hp --kind job --gpus 2 --backoff-limit 15 ;;
    compact) echo compact --kind job --gpus 1 --backoff-limit 15 ;;
    jobset) echo lp --kind jobset --gpus 2 --max-restarts 15 ;;
    *) echo "no group '$1'; write low, high, compact or jobset" >&2; return 1 ;;
  esac
}

groups=("$@")
[ $# -gt 0 ] || groups=(low high compact jobset)
for group in "${groups[@]}"; do options "$group" > /dev/null; done

for team in a b c d; do
  kubectl create configmap mnist --namespace "team-$team" --from-file "$here/train.py" --dry-run=client -o yaml | kubectl apply -f -
done
for group in "${groups[@]}"; do
  for ((round = 0; round < ${ROUNDS:-4}; round++)); do
    for team in a b c d; do
      # shellcheck disable=SC2046  # the options of a group are several words
      berth workload "$stack" "team-$team" $(options "$group") --pods 2 --name "$group-$round" \
        --template "$here/template.yaml" | kubectl apply -f -
      sleep "${PAUSE:-0.5}"
    done
  done
done
